"""Runs one job on a cluster of two executor processes and prints its results as JSON.

job.py stock|sluice FOLDER [JAR]: FOLDER for shuffle files, JAR on the driver's class path behind Sluice's.
"""

import json
import operator
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sluice_spark

SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


def results(spark):
    left = spark.range(0, 4_000, 1, 3).select("id", F.concat(F.lit("näme "), F.col("id") % 50).alias("name"))
    right = spark.range(0, 6_000, 1, 3).select((F.col("id") * 3 % 5_000).alias("id"), F.col("id").alias("visit"))
    joined = left.join(right, "id").groupBy("name").agg(F.count("visit"), F.sum("visit")).orderBy("name")
    words = spark.sparkContext.parallelize(range(4_000), 3).map(lambda n: (f"word{n * 7919 % 97}", n))
    return {
        "joined": [list(row) for row in joined.collect()],
        "words": sorted(words.reduceByKey(operator.add, 4).collect()),
    }


def counters(spark):
    """How many shuffles took Sluice's path, as its driver counted."""
    manager = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().shuffleManager()
    if not manager.getClass().getName().startswith("io.sluice."):
        return {}
    values = manager.getClass().getClassLoader().loadClass("io.sluice.spark.metrics.Counter").getEnumConstants()
    wanted = ("SHUFFLES_ROWS", "SHUFFLES_RECORDS", "SHUFFLES_STOCK")
    return {value.name(): manager.counters().get(value) for value in values if value.name() in wanted}


def main(engine, folder, jar=None):
    builder = SparkSession.builder.appName(engine)
    for key, value in {**SETTINGS, "spark.local.dir": folder}.items():
        builder = builder.config(key, value)
    if engine == "sluice":
        builder = sluice_spark.configure(builder)
    if jar:
        # In spark.jars on Spark 4 it would be copied under another path first.
        path = builder._options.get("spark.driver.extraClassPath", sluice_spark.jar_path())
        builder = builder.config("spark.driver.extraClassPath", f"{path}:{jar}")
    spark = builder.getOrCreate()
    if engine == "sluice":
        # A notebook's cell that is run again.
        assert sluice_spark.configure(SparkSession.builder).getOrCreate() is spark
    report = {"spark": spark.version, "manager": spark.sparkContext.getConf().get("spark.shuffle.manager", "sort"),
              "results": results(spark), "counters": counters(spark)}
    spark.stop()
    print("REPORT " + json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
