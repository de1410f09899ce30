"""A PySpark application for a cluster manager: queries whose results do not depend on where tasks run, then one more
query on shuffled data whose writers are gone. Writes its results as JSON to the file that JOB_REPORT names."""

import json
import os
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROWS = 50_000
LIMIT_SECONDS = 800


def executors(context):
    return sorted(filter(None, context._jsc.sc().getExecutorIds().mkString(",").split(",")))


def await_executors(context, condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition(executors(context)):
        if time.monotonic() > end:
            raise TimeoutError(f"executors are {executors(context)}")
        time.sleep(0.2)


def main():
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    await_executors(context, lambda found: len(found) == 2)
    rows = spark.range(ROWS).withColumn("k", F.col("id") % 997).withColumn("text", F.concat(F.lit("row "), "id"))
    groups = rows.groupBy("k").agg(F.count("*"), F.max("text")).orderBy("k").collect()
    joined = rows.alias("a").join(rows.alias("b"), "id").select(F.sum(F.hash("a.text", "b.k"))).first()
    shuffled = rows.rdd.map(lambda row: (row.k, row.id)).groupByKey(8).mapValues(sum)
    first = sorted(shuffled.collect())
    # The second execution reads the map outputs of executors that are gone, from the service.
    gone = executors(context)
    for executor in gone:
        context._jsc.sc().killAndReplaceExecutor(executor)
    await_executors(context, lambda found: len(found) == 2 and not set(found) & set(gone))
    again = sorted(shuffled.collect())
    report = {"groups": [list(row) for row in groups], "join": list(joined), "first": first, "again": again}
    with open(os.environ["JOB_REPORT"], "w", encoding="utf-8") as file:
        json.dump(report, file)
    spark.stop()


main()
