"""Sluice, an accelerated shuffle for Apache Spark, for PySpark.

    from pyspark.sql import SparkSession
    import sluice_spark

    spark = sluice_spark.configure(SparkSession.builder.appName("report")).getOrCreate()

`python -m sluice_spark` says what else there is.
"""

import sys

# pip refuses older Pythons; a folder on PYTHONPATH is not refused by anybody. No syntax here that they do not know.
if sys.version_info < (3, 9):
    raise ImportError(
        "sluice-spark needs Python 3.9 or later, this is %d.%d. Use a newer Python, or give Spark the jar without this "
        "package (docs/start.md)" % sys.version_info[:2]
    )

from sluice_spark._configure import configure, settings
from sluice_spark._errors import SluiceError
from sluice_spark._jar import jar_path
from sluice_spark._version import __version__

__all__ = ["SluiceError", "__version__", "configure", "jar_path", "settings"]
