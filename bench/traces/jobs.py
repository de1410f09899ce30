"""Records what happens to the map outputs of iterative jobs, for MoveOrderTracesTest: one job by its name, to a file.

    spark-submit --master 'local[2]' --driver-class-path build/sluice-bench.jar \
        --conf spark.cleaner.periodicGC.interval=5s \
        --conf spark.shuffle.manager=io.sluice.bench.driver.RecordedShuffle --conf spark.bench.trace=FILE \
        bench/traces/jobs.py JOB

JOB is page-rank, als, k-means or k-means-mllib. page-rank and k-means are the programs of Spark's examples without
their cache(), so that the shuffle of the links, or points, is read in each iteration; als and k-means-mllib are
MLlib's. Needs PySpark with numpy. The driver
collects its garbage every five seconds, so that shuffles which nothing refers to any more are removed.
"""
import sys

import numpy
from pyspark.sql import SparkSession

PARTITIONS = 8


def page_rank(spark):
    nodes, edges = 40_000, 400_000

    def ends(number):
        # A few nodes have many links, as in a web.
        generator = numpy.random.default_rng(number)
        return int(nodes * generator.random() ** 3), int(nodes * generator.random())

    links = spark.sparkContext.range(edges, numSlices=PARTITIONS).map(ends).groupByKey(PARTITIONS)
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(15):
        given = links.join(ranks, PARTITIONS).flatMap(
            lambda entry: [(node, entry[1][1] / len(entry[1][0])) for node in entry[1][0]])
        ranks = given.reduceByKey(lambda a, b: a + b, PARTITIONS).mapValues(lambda rank: 0.15 + 0.85 * rank)
    print("ranks", ranks.count())


def als(spark):
    from pyspark.ml.recommendation import ALS
    ratings = spark.range(0, 600_000, 1, PARTITIONS).selectExpr(
        "CAST(pow(rand(1), 2) * 20000 AS INT) AS user", "CAST(pow(rand(2), 2) * 5000 AS INT) AS item",
        "CAST(1 + 4 * rand(3) AS FLOAT) AS rating")
    model = ALS(rank=20, maxIter=10, numUserBlocks=PARTITIONS, numItemBlocks=PARTITIONS, seed=5).fit(ratings)
    print("factors", model.userFactors.count())


def points(spark):
    return spark.range(0, 200_000, 1, PARTITIONS).selectExpr(
        "id", "array(" + ", ".join(f"10 * (id % 7) * {axis + 1} + randn({axis})" for axis in range(8)) + ") AS x")


def k_means(spark):
    rows = points(spark).rdd.map(lambda row: (row.id, numpy.array(row.x))).partitionBy(PARTITIONS).values()
    centers = numpy.array(rows.takeSample(False, 7, 5))

    def nearest(point):
        return int(numpy.argmin(((centers - point) ** 2).sum(axis=1))), (point, 1)

    for _ in range(12):
        sums = rows.map(nearest).reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1]), PARTITIONS).collectAsMap()
        centers = numpy.array([sums[i][0] / sums[i][1] if i in sums else centers[i] for i in range(len(centers))])
    print("centers", len(centers))


def k_means_mllib(spark):
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.functions import array_to_vector
    rows = points(spark).repartition(PARTITIONS, "id")
    model = KMeans(k=7, maxIter=12, seed=5, tol=0).fit(rows.select(array_to_vector("x").alias("features")))
    print("centers", len(model.clusterCenters()))


JOBS = {"page-rank": page_rank, "als": als, "k-means": k_means, "k-means-mllib": k_means_mllib}


def main(job):
    spark = SparkSession.builder.appName(job).getOrCreate()
    JOBS[job](spark)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
