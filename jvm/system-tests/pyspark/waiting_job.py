"""A PySpark application that does nothing until it is ended."""

import time

from pyspark.sql import SparkSession

SparkSession.builder.getOrCreate()
time.sleep(300)
