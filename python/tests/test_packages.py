"""spark-submit --packages finds the jar in a Maven repository that is laid out as a release lays it out."""

import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import sluice_spark

JOB = Path(__file__).with_name("job.py")
REPOSITORY = os.environ.get("SLUICE_REPOSITORY", "")
CHECKOUT = os.environ.get("SLUICE_CHECKOUT", "")
if CHECKOUT:
    sys.path.insert(0, os.path.join(CHECKOUT, "tools", "lib"))
    import pages
LIMIT_SECONDS = 180


@unittest.skipUnless(REPOSITORY and CHECKOUT and importlib.util.find_spec("pyspark"),
                     "no SLUICE_REPOSITORY, no SLUICE_CHECKOUT or no PySpark")
class PackagesTest(unittest.TestCase):
    def test_a_job_runs_with_the_jar_from_the_repository(self):
        import pyspark

        coordinate = f"io.sluice:sluice:{sluice_spark.__version__}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment = {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                       "PATH": pages.path_with(Path(pyspark.__file__).parent / "bin")}
        with tempfile.TemporaryDirectory() as folder:
            # Ivy asks the page's repository only, so the test needs no network, and no other jar of that name is found.
            settings, = pages.blocks("docs/start.md", "test_packages", "xml")
            Path(folder, "ivy.xml").write_text(settings.replace("/path/to/build/release/maven", REPOSITORY))
            Path(folder, "spark-defaults.conf").write_text(f"spark.jars.ivy {folder}/ivy\n")
            command, = pages.commands("docs/start.md", "test_packages")
            self.assertIn(coordinate, command)
            said = pages.run(command.replace("your-job.py", f"{JOB} stock {folder}"), folder,
                             {**environment, "SPARK_CONF_DIR": folder}, LIMIT_SECONDS)
        self.assertIn("sluice#sluice;" + sluice_spark.__version__, said)
        lines = [line for line in said.splitlines() if line.startswith("REPORT ")]
        report = json.loads(lines[0][len("REPORT "):])
        self.assertEqual(report["manager"], "io.sluice.spark.SluiceShuffleManager")
        self.assertEqual(len(report["results"]["joined"]), 50)
        self.assertGreater(report["counters"]["SHUFFLES_ROWS"], 0)


if __name__ == "__main__":
    unittest.main()
