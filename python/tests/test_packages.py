"""spark-submit --packages finds the jar in a Maven repository that is laid out as a release lays it out."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sluice_spark

JOB = Path(__file__).with_name("job.py")
REPOSITORY = os.environ.get("SLUICE_REPOSITORY", "")
LIMIT_SECONDS = 180

# Ivy asks this repository only, so the test needs no network, and no other jar of that name is found.
IVY = """\
<ivysettings>
  <settings defaultResolver="release"/>
  <resolvers>
    <ibiblio name="release" m2compatible="true" root="file://{repository}"/>
  </resolvers>
</ivysettings>
"""


@unittest.skipUnless(REPOSITORY and importlib.util.find_spec("pyspark"), "no SLUICE_REPOSITORY or no PySpark")
class PackagesTest(unittest.TestCase):
    def test_a_job_runs_with_the_jar_from_the_repository(self):
        import pyspark

        coordinate = f"io.sluice:sluice:{sluice_spark.__version__}"
        submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment = {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder, "ivy.xml")
            settings.write_text(IVY.format(repository=REPOSITORY))
            command = [str(submit), "--packages", coordinate, "--conf", f"spark.jars.ivySettings={settings}",
                       "--conf", f"spark.jars.ivy={folder}/ivy", "--conf", "spark.plugins=io.sluice.spark.SluicePlugin",
                       "--conf", "spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager",
                       str(JOB), "stock", folder]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment,
                                  timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("sluice#sluice;" + sluice_spark.__version__, done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
        report = json.loads(lines[0][len("REPORT "):])
        self.assertEqual(report["manager"], "io.sluice.spark.SluiceShuffleManager")
        self.assertEqual(len(report["results"]["joined"]), 50)
        self.assertGreater(report["counters"]["SHUFFLES_ROWS"], 0)


if __name__ == "__main__":
    unittest.main()
