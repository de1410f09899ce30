"""The quick-start notebook, cell by cell, as a kernel would run it; --all runs it (SLUICE_NOTEBOOK names it)."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NOTEBOOK = os.environ.get("SLUICE_NOTEBOOK", "")
LIMIT_SECONDS = 300


@unittest.skipUnless(NOTEBOOK, "no SLUICE_NOTEBOOK")
class NotebookTest(unittest.TestCase):
    def run_cells(self, *options):
        cells = json.loads(Path(NOTEBOOK).read_text(encoding="utf-8"))["cells"]
        program = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, cwd=folder,
                                  env={**kept, "SPARK_LOCAL_IP": "127.0.0.1"}, timeout=LIMIT_SECONDS)

    def test_its_cells_run(self):
        done = self.run_cells()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("on io.sluice.spark.SluiceShuffleManager", done.stdout)
        self.assertIn("1000 customers, 1000000 orders", done.stdout)
        self.assertIn("equal: True", done.stdout)

    def test_before_the_package_is_installed_it_says_what_to_do(self):
        done = self.run_cells("-S")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("sluice_spark is not installed in this notebook's Python", done.stderr)
        self.assertIn("%pip install", done.stderr)


if __name__ == "__main__":
    unittest.main()
