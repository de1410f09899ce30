"""Jobs on the libraries that come with Spark: GraphX, MLlib, streaming with state, and functions on pandas and Arrow.

As the jobs of jobs.py, which runs them too. Sums of floating-point numbers depend on the order in which map outputs
arrive, on stock too: test_pyspark.py compares those results with a tolerance.
"""

import shutil
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.recommendation import ALS
from pyspark.ml.regression import GBTRegressor
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# --- GraphX ----------------------------------------------------------------------------------------------------------


def vertices(graph):
    return sorted((vertex._1(), vertex._2()) for vertex in graph.vertices().toJavaRDD().collect())


def on_graph(spark, algorithm):
    """The vertices that `algorithm` gives for a graph of 300 vertices in six components, by their ids."""
    jvm = spark.sparkContext._jvm
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder, "edges.txt")
        # A ring of each component, and one more edge from each vertex.
        edges.write_text("".join(
            f"{n} {(n + 6) % 300}\n{n} {(n * n + 7 * n) % 300 // 6 * 6 + n % 6}\n" for n in range(300)))
        storage = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
        graph = jvm.org.apache.spark.graphx.GraphLoader.edgeListFile(
            spark.sparkContext._jsc.sc(), edges.as_uri(), False, 4, storage, storage)
        # The attributes of vertices and edges are numbers.
        tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").Int()
        return vertices(algorithm(jvm.org.apache.spark.graphx.lib, graph, tag))


def page_rank(spark):
    return on_graph(spark, lambda lib, graph, tag: lib.PageRank.run(graph, 5, 0.15, tag, tag))


def connected_components(spark):
    return on_graph(spark, lambda lib, graph, tag: lib.ConnectedComponents.run(graph, 20, tag, tag))


# --- MLlib -----------------------------------------------------------------------------------------------------------


def als(spark):
    ratings = spark.range(0, 3_000, 1, 4).select(
        (F.col("id") % 50).cast("int").alias("user"), (F.col("id") * 7 % 41).cast("int").alias("item"),
        (F.col("id") % 50 * 3 % 5 + F.col("id") * 7 % 41 % 4).cast("float").alias("rating"))
    als_of_ratings = ALS(rank=3, maxIter=2, seed=7, userCol="user", itemCol="item", numUserBlocks=3, numItemBlocks=3)
    model = als_of_ratings.fit(ratings)
    return [[row.id, *row.features] for row in model.userFactors.orderBy("id").collect()]


def points(spark):
    """Points around five places that are far from each other, with a number that depends on the place.

    They are shuffled and sorted: the first centres are a sample, which depends on the order of the rows.
    """
    numbers = spark.range(0, 3_000, 1, 4).select(
        "id", (F.col("id") % 5 * 100 + F.col("id") * 31 % 17).alias("x"),
        (F.col("id") % 5 * 70 % 300 + F.col("id") * 57 % 13).alias("y"))
    numbers = numbers.withColumn("label", F.col("x") * 2 + F.floor(F.col("y") / 10))
    return VectorAssembler(inputCols=["x", "y"], outputCol="features").transform(
        numbers.repartition(4, "id").sortWithinPartitions("id"))


def k_means(spark):
    model = KMeans(k=5, seed=3, maxIter=4).fit(points(spark))
    sizes = model.transform(points(spark)).groupBy("x", "y", "prediction").count()
    centres = sorted([float(number) for number in centre] for centre in model.clusterCenters())
    return [*centres, *sorted([row.x, row.y, row["count"]] for row in sizes.collect())]


def gradient_boosted_trees(spark):
    model = GBTRegressor(maxIter=3, maxDepth=3, seed=5).fit(points(spark))
    predicted = model.transform(points(spark)).where("id < 100").orderBy("id")
    return [[row.id, row.prediction] for row in predicted.select("id", "prediction").collect()]


# --- Functions on pandas and Arrow
# -------------------------------------------------------------------------------------


def numbers(spark, rows):
    return spark.range(0, rows, 1, 4).select((F.col("id") % 97).alias("k"), F.col("id").alias("v"))


def cogroup_in_pandas(spark):
    def joined(key, left, right):
        return pd.DataFrame({"k": [key[0]], "left": [left.v.sum()], "right": [right.v.max() if len(right) else -1]})

    left, right = numbers(spark, 20_000).groupBy("k"), numbers(spark, 60).groupBy("k")
    result = left.cogroup(right).applyInPandas(joined, "k long, left long, right long")
    return sorted(map(tuple, result.collect()))


def pandas_aggregate(spark):
    @F.pandas_udf("double")
    def middle(column: pd.Series) -> float:
        return column.median()

    return sorted(map(tuple, numbers(spark, 20_000).groupBy("k").agg(middle("v")).collect()))


def groups_in_arrow(spark):
    def summary(table: pa.Table) -> pa.Table:
        return pa.table({"k": [table["k"][0].as_py()], "total": [pc.sum(table["v"]).as_py()]})

    grouped = numbers(spark, 20_000).groupBy("k").applyInArrow(summary, "k long, total long")
    return sorted(map(tuple, grouped.collect()))


def map_in_arrow(spark):
    """The input of the function, and its output, are shuffled."""
    def doubled(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([batch["k"], pc.multiply(batch["v"], 2)], ["k", "v"])

    mapped = numbers(spark, 20_000).repartition(5, "k").mapInArrow(doubled, "k long, v long")
    return sorted(map(tuple, mapped.groupBy("k").agg(F.sum("v"), F.count("v")).collect()))


def arrow_udf(spark):
    @F.udf("string", useArrow=True)
    def label(number):
        return f"{number % 50}"

    rows = numbers(spark, 20_000).repartition(5, "v").select(label("v").alias("label"), "v")
    return sorted(map(tuple, rows.groupBy("label").agg(F.sum("v")).collect()))


# --- Streaming
# -----------------------------------------------------------------------------------------------------------


class Totals(StatefulProcessor):
    """For each key, the sum of all values so far."""

    def init(self, handle):
        self.total = handle.getValueState("total", "total long")

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802,N803: Spark's names
        total = self.total.get()[0] if self.total.exists() else 0
        total += sum(int(frame.v.sum()) for frame in rows)
        self.total.update((total,))
        yield pd.DataFrame({"k": [key[0]], "total": [total]})

    def close(self):
        pass


def transform_with_state(spark):
    """Two batches, the second from the checkpoint of the first, by another query."""
    folder, rows = tempfile.mkdtemp(), []
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS_DB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        for batch in range(2):
            numbers(spark, 1_000 * (batch + 1)).coalesce(1).write.mode("append").parquet(f"{folder}/input")
            query = (
                spark.readStream.schema("k long, v long").parquet(f"{folder}/input").groupBy("k")
                .transformWithStateInPandas(Totals(), "k long, total long", "Update", "None")
                .writeStream.foreachBatch(lambda data, number: rows.extend((number, *row) for row in data.collect()))
                .option("checkpointLocation", f"{folder}/checkpoint").outputMode("update")
                .trigger(availableNow=True).start())
            query.awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
        spark.conf.unset("spark.sql.shuffle.partitions")
        shutil.rmtree(folder, ignore_errors=True)
    return sorted(rows)


JOBS = (connected_components, k_means, cogroup_in_pandas, groups_in_arrow)
# For ./sluice test --all.
MORE_JOBS = (
    page_rank, als, gradient_boosted_trees, pandas_aggregate, map_in_arrow, arrow_udf, transform_with_state,
)
