"""A PySpark application for pods: queries whose results do not depend on where tasks run. On a cluster of two executors
it then waits until one of them was replaced, and reads the same shuffle again. Writes its results as JSON to the file
that JOB_REPORT names, and before it waits, the executors to that file's name with `.ready`."""

import json
import os
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROWS = 50_000
LIMIT_SECONDS = 500


def executors(context):
    return sorted(filter(None, context._jsc.sc().getExecutorIds().mkString(",").split(",")))


def await_executors(context, condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition(executors(context)):
        if time.monotonic() > end:
            raise TimeoutError(f"executors are {executors(context)}")
        time.sleep(0.2)


def write(name, value):
    with open(f"{name}.new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.rename(f"{name}.new", name)


def main():
    spark = SparkSession.builder.getOrCreate()
    context, report = spark.sparkContext, os.environ["JOB_REPORT"]
    on_cluster = not context.master.startswith("local")
    if on_cluster:
        await_executors(context, lambda found: len(found) == 2)
    rows = spark.range(ROWS).withColumn("k", F.col("id") % 997).withColumn("text", F.concat(F.lit("row "), "id"))
    groups = rows.groupBy("k").agg(F.count("*"), F.max("text")).orderBy("k").collect()
    joined = rows.alias("a").join(rows.alias("b"), "id").select(F.sum(F.hash("a.text", "b.k"))).first()
    shuffled = rows.rdd.map(lambda row: (row.k, row.id)).groupByKey(8).mapValues(sum)
    first = sorted(shuffled.collect())
    if on_cluster:
        before = executors(context)
        write(f"{report}.ready", before)
        await_executors(context, lambda found: len(found) == 2 and set(found) != set(before))
    again = sorted(shuffled.collect())
    write(report, {"groups": [list(row) for row in groups], "join": list(joined), "first": first, "again": again})
    spark.stop()


main()
