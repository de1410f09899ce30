"""The installed wheel beside a real PySpark: a job gives on Sluice what it gives on stock."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

JOB = Path(__file__).with_name("job.py")
LIMIT_SECONDS = 180


@unittest.skipUnless(importlib.util.find_spec("pyspark"), "no PySpark in this Python")
class JobTest(unittest.TestCase):
    def run_job(self, *arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment = {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                       "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) if sys.version_info >= (3, 10) else \
                tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, str(JOB), arguments[0], folder, *arguments[1:]], capture_output=True,
                                  text=True, cwd=folder, env=environment, timeout=LIMIT_SECONDS)

    def report(self, engine):
        done = self.run_job(engine)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
        return json.loads(lines[0][len("REPORT "):])

    def test_results_are_those_of_stock(self):
        with ThreadPoolExecutor() as pool:
            stock, sluice = pool.map(self.report, ("stock", "sluice"))
        self.assertEqual(stock["manager"], "sort")
        self.assertEqual(sluice["manager"], "io.sluice.spark.SluiceShuffleManager")
        self.assertEqual(len(stock["results"]["joined"]), 50)
        self.assertEqual(len(stock["results"]["words"]), 97)
        self.assertEqual(sluice["results"], stock["results"])
        self.assertGreater(sluice["counters"]["SHUFFLES_ROWS"], 0)
        self.assertGreater(sluice["counters"]["SHUFFLES_RECORDS"], 0)
        self.assertEqual(sluice["counters"]["SHUFFLES_STOCK"], 0)

    def test_conf_says_the_memory_and_what_is_wrong(self):
        def conf(setting):
            command = [sys.executable, "-m", "sluice_spark", "conf", setting]
            return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)

        right, wrong = conf("spark.sluice.memory.limit=123m"), conf("spark.sluice.memory.limt=123m")
        self.assertEqual(right.returncode, 0, right.stderr)
        self.assertRegex(right.stdout.splitlines()[-1], "^# shuffles of one executor use up to 123 MiB")
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, "^error: the memory cannot .*: unknown settings .spark.sluice.memory.limt .did")
        self.assertNotIn("\tat ", wrong.stderr)

    @unittest.skipUnless(os.environ.get("SLUICE_ALL") == "1", "part of ./sluice test --all")
    def test_bench_compares_both_engines(self):
        with tempfile.TemporaryDirectory() as folder:
            times = Path(folder, "times.json")
            command = [sys.executable, "-m", "sluice_spark", "bench", "join", "sort", "--rows", "20000", "--runs", "1",
                       "--warmups", "0", "--master", "local-cluster[2,1,1024]", "--json", str(times)]
            environment = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT_SECONDS)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            results = json.loads(times.read_text())
        self.assertEqual([result["job"] for result in results], ["join", "sort"])
        self.assertEqual(results[0]["digest"][0], "10000")
        for result in results:
            self.assertGreater(result["stock"]["bytes"], 0)
            self.assertGreater(result["sluice"]["bytes"], 0)
            self.assertNotEqual(result["sluice"]["bytes"], result["stock"]["bytes"])
            self.assertRegex(done.stdout, rf"(?m)^{result['job']} .* s .* s .*x$")

    @unittest.skipUnless(os.environ.get("SLUICE_ALL") == "1", "part of ./sluice test --all")
    def test_two_versions_on_the_class_path_stop_the_application(self):
        """A jar whose name does not say that it is Sluice's: only the JVM can notice."""
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder, "all-in-one.jar")
            with zipfile.ZipFile(other, "w") as jar:
                jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nImplementation-Version: 9.9.9\r\n\r\n")
                jar.writestr("io/sluice/spark/SluicePlugin.class", b"")
            done = self.run_job("sluice", str(other))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Sluice is on the class path in several versions: ", done.stderr)
        self.assertIn(f"9.9.9 in {other}", done.stderr)


if __name__ == "__main__":
    unittest.main()
