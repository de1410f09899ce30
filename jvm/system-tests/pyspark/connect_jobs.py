"""A client of a Spark Connect server, named on its command line: runs its jobs and prints their results as JSON."""

import json
import sys

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(remote):
    spark = SparkSession.builder.remote(remote).getOrCreate()
    events = spark.range(0, 20_000, 1, 4).select("id", (F.col("id") * 31 % 97).alias("k"))

    def summary(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": [group.k.iloc[0]], "total": [group.id.sum()]})

    joined = events.alias("a").join(events.alias("b"), F.expr("a.k = b.id"))
    results = {
        "join": joined.groupBy("a.k").agg(F.count("*"), F.max("a.id")),
        "sort": events.orderBy(F.desc("k"), "id").offset(19_000),
        "distinct": events.repartition(5, "k").select("k").distinct(),
        "groups in pandas": events.groupBy("k").applyInPandas(summary, "k long, total long"),
    }
    print(json.dumps({name: sorted(map(tuple, data.collect())) for name, data in results.items()}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
