"""PySpark as pip installs it, in local-cluster: every job of jobs.py gives on Sluice what it gives on stock.

Two applications, one after the other, because a running one cannot change its shuffle manager. The second has exactly
the arguments that ./sluice conf prints for Spark 4, which come in the environment as SLUICE_CONF.
"""

import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build"
LIMIT_SECONDS = 300
STOCK = "org.apache.spark.shuffle.sort.SortShuffleManager"
SLUICE = "io.sluice.spark.SluiceShuffleManager"

SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "6",
    # Else a join of small tables has no shuffle.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.unsafe.exceptionOnMemoryLeak": "true",
}

in_all = unittest.skipUnless(os.environ.get("SLUICE_TESTS") == "all", "runs with ./sluice test --all")


def recommended_arguments():
    """The first command of ./sluice conf."""
    first = os.environ["SLUICE_CONF"].split("\n\n")[0]
    return shlex.split(first.replace("\\\n", " "), comments=True)


def environment():
    """This process's without a Spark other than the installed one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    return kept | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Processes live for seconds: start them fast.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    }


def run_jobs(arguments):
    """What jobs.py reports, run by spark-submit with the arguments added."""
    BUILD.mkdir(exist_ok=True)
    # Processes of the application may still be deleting their own files.
    with tempfile.TemporaryDirectory(prefix="pyspark-run-", dir=BUILD, ignore_cleanup_errors=True) as folder:
        report = Path(folder, "report.json")
        settings = SETTINGS | {"spark.local.dir": folder}
        flags = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        command = [Path(sys.executable).with_name("spark-submit"), *flags, *arguments, HERE / "jobs.py", report]
        done = subprocess.run(
            command, cwd=folder, env=environment(), timeout=LIMIT_SECONDS, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        return json.loads(report.read_text())


class PySparkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stock = run_jobs([])
        cls.sluice = run_jobs([*recommended_arguments(), "--conf", "spark.sluice.memory.failOnLeak=true"])

    def assert_same(self, job, *paths):
        """Equal results, and the job's shuffles took these paths: registered on them, and files of frames."""
        stock, sluice = self.stock["jobs"][job], self.sluice["jobs"][job]
        self.assertGreater(len(stock["result"]), 40)
        self.assertEqual(stock["result"], sluice["result"])
        self.assert_carried(stock, sluice, paths)

    def assert_close(self, job, *paths):
        """The same for results that are sums of floating-point numbers, or made of such."""
        stock, sluice = self.stock["jobs"][job], self.sluice["jobs"][job]
        self.assertGreater(len(stock["result"]), 40)
        self.assertEqual(len(stock["result"]), len(sluice["result"]))
        for expected, found in zip(stock["result"], sluice["result"]):
            self.assertEqual(len(expected), len(found))
            for ours, theirs in zip(found, expected):
                self.assertTrue(math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-4), f"{expected} and {found}")
        self.assert_carried(stock, sluice, paths)

    def assert_carried(self, stock, sluice, paths):
        self.assertGreater(stock["files"], 0)
        self.assertEqual(0, stock["framed_files"])
        self.assertGreater(sluice["files"], 0)
        self.assertEqual(sluice["files"], sluice["framed_files"])
        self.assertEqual(set(paths), {name for name, moved in sluice["counters"].items() if moved > 0})

    def test_engines(self):
        self.assertEqual(["4.2.0", STOCK], [self.stock["spark"], self.stock["manager"]])
        self.assertEqual(["4.2.0", SLUICE], [self.sluice["spark"], self.sluice["manager"]])

    def test_word_count(self):
        self.assert_same("word_count", "SHUFFLES_RECORDS")

    def test_sort_by_key(self):
        self.assert_same("sort_by_key", "SHUFFLES_RECORDS")
        keys = [key for key, _ in self.sluice["jobs"]["sort_by_key"]["result"]]
        self.assertEqual(sorted(keys), keys)

    def test_group_by_key(self):
        self.assert_same("group_by_key", "SHUFFLES_RECORDS")

    def test_pipe_and_persist(self):
        self.assert_same("pipe_and_persist", "SHUFFLES_RECORDS")

    def test_pandas_udf(self):
        self.assert_same("pandas_udf", "SHUFFLES_ROWS")

    def test_data_frame_join(self):
        self.assert_same("data_frame_join", "SHUFFLES_ROWS")

    @in_all
    def test_page_rank(self):
        self.assert_close("page_rank", "SHUFFLES_RECORDS")

    def test_connected_components(self):
        self.assert_same("connected_components", "SHUFFLES_RECORDS")
        self.assertEqual(6, len({component for _, component in self.sluice["jobs"]["connected_components"]["result"]}))

    @in_all
    def test_als(self):
        self.assert_close("als", "SHUFFLES_ROWS", "SHUFFLES_RECORDS")

    def test_k_means(self):
        self.assert_close("k_means", "SHUFFLES_ROWS", "SHUFFLES_RECORDS")

    @in_all
    def test_gradient_boosted_trees(self):
        self.assert_close("gradient_boosted_trees", "SHUFFLES_ROWS", "SHUFFLES_RECORDS")

    def test_cogroup_in_pandas(self):
        self.assert_same("cogroup_in_pandas", "SHUFFLES_ROWS")

    @in_all
    def test_pandas_aggregate(self):
        self.assert_same("pandas_aggregate", "SHUFFLES_ROWS")

    def test_groups_in_arrow(self):
        self.assert_same("groups_in_arrow", "SHUFFLES_ROWS")

    @in_all
    def test_map_in_arrow(self):
        self.assert_same("map_in_arrow", "SHUFFLES_ROWS")

    @in_all
    def test_arrow_udf(self):
        self.assert_same("arrow_udf", "SHUFFLES_ROWS")

    @in_all
    def test_transform_with_state(self):
        self.assert_same("transform_with_state", "SHUFFLES_ROWS")


if __name__ == "__main__":
    unittest.main()
