"""A PySpark application: runs every job once and writes their results as JSON to the file named on its command line.

Results do not depend on the order in which map outputs arrive. With each job goes what its shuffles left behind: the
first bytes of their data files, and how far Sluice's counters moved.
"""

import fnmatch
import json
import operator
import os
import sys
from pathlib import Path

import neighbours
import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Executors do not have that module.
cloudpickle.register_pickle_by_value(neighbours)

FRAME_MAGIC = b"SLF1"  # docs/block-format.md
COUNTERS = ("SHUFFLES_ROWS", "SHUFFLES_RECORDS", "SHUFFLES_STOCK")


def mixed(n):
    """A different number below 2^32 for every n below 2^32, in no order."""
    return n * 0x9E3779B1 % 2**32


# --- Jobs ----------------------------------------------------------------------------------------------------------


def word_count(spark):
    lines = spark.sparkContext.parallelize(range(4000), 4).map(
        lambda n: " ".join(f"word{mixed(10 * n + i) % 500}" for i in range(10))
    )
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(operator.add, 6)
    return sorted(counts.collect())


def sort_by_key(spark):
    numbers = spark.sparkContext.parallelize(range(20_000), 4)
    return numbers.map(lambda n: (mixed(n), f"value {n}")).sortByKey(numPartitions=6).collect()


def group_by_key(spark):
    numbers = spark.sparkContext.parallelize(range(20_000), 4)
    groups = numbers.map(lambda n: (f"key{n % 77}", None if n % 11 == 0 else n * 0.5)).groupByKey(5)
    return sorted(groups.mapValues(lambda values: sorted(values, key=repr)).collect())


def pipe_and_persist(spark):
    """Shuffled records are read by the threads that feed Python and `cat`, and kept, before the next shuffle."""
    lines = spark.sparkContext.parallelize(range(20_000), 4).map(lambda n: (mixed(n) % 300, f"line {n}"))
    piped = lines.partitionBy(5).map(lambda pair: f"{pair[0]} {pair[1]}").pipe("cat").persist()
    counts = piped.map(lambda line: (line.split(" ")[0], 1)).reduceByKey(operator.add, 7)
    result = [*sorted(counts.collect()), piped.count()]
    piped.unpersist(blocking=True)
    return result


def pandas_udf(spark):
    @F.pandas_udf("long")
    def squared(column: pd.Series) -> pd.Series:
        return column * column

    def summary(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": [group.k.iloc[0]], "rows": [len(group)], "total": [group.square.sum()]})

    numbers = spark.range(0, 20_000, 1, 4).select((F.col("id") % 97).alias("k"), squared("id").alias("square"))
    return sorted(map(tuple, numbers.groupBy("k").applyInPandas(summary, "k long, rows long, total long").collect()))


def data_frame_join(spark):
    name = F.when(F.col("id") % 7 != 0, F.concat(F.lit("näme "), F.col("id") % 50))
    people = spark.range(0, 10_000, 1, 4).select("id", name.alias("name"))
    visits = spark.range(0, 20_000, 1, 3).select((F.col("id") * 3 % 12_000).alias("id"), F.col("id").alias("visit"))
    totals = people.join(visits, "id", "left").groupBy("name").agg(F.count("visit"), F.sum("visit"))
    return [tuple(row) for row in totals.orderBy("name").collect()]


JOBS = (word_count, sort_by_key, group_by_key, pipe_and_persist, pandas_udf, data_frame_join, *neighbours.JOBS)
if os.environ.get("SLUICE_TESTS") == "all":
    JOBS += neighbours.MORE_JOBS


# --- What the shuffles did -----------------------------------------------------------------------------------------


def shuffle_manager(spark):
    return spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().shuffleManager()


def sluice_counters(spark):
    """Sluice's counters of the driver, which decides the path of every shuffle; None on stock."""
    manager = shuffle_manager(spark)
    if not manager.getClass().getName().startswith("io.sluice."):
        return None
    names = manager.getClass().getClassLoader().loadClass("io.sluice.spark.metrics.Counter").getEnumConstants()
    return {name.name(): manager.counters().get(name) for name in names if name.name() in COUNTERS}


def data_files(local_dir):
    """For each map output with data that lies below the folder, whether it is of Sluice's frames."""
    found = {}
    for folder, _, names in os.walk(local_dir):
        for name in fnmatch.filter(names, "shuffle_*_0.data"):
            file = os.path.join(folder, name)
            try:
                with open(file, "rb") as data:
                    start = data.read(len(FRAME_MAGIC))
            except FileNotFoundError:  # Spark's cleaner was faster.
                continue
            if start:
                found[file] = start == FRAME_MAGIC
    return found


def run(spark, job, local_dir):
    counters, files = sluice_counters(spark), data_files(local_dir)
    result = job(spark)
    new_files = [framed for file, framed in data_files(local_dir).items() if file not in files]
    moved = counters and {name: value - counters[name] for name, value in sluice_counters(spark).items()}
    return {"result": result, "files": len(new_files), "framed_files": sum(new_files), "counters": moved}


def main(output):
    spark = SparkSession.builder.getOrCreate()
    local_dir = spark.conf.get("spark.local.dir")
    report = {
        "spark": spark.version,
        "manager": shuffle_manager(spark).getClass().getName(),
        "jobs": {job.__name__: run(spark, job, local_dir) for job in JOBS},
    }
    Path(output).write_text(json.dumps(report))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
