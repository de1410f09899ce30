"""The quick-start notebook in a Jupyter kernel; --all runs it (SLUICE_NOTEBOOK: the file, SLUICE_JUPYTER: packages)."""

import os
import subprocess
import sys
import tempfile
import unittest

NOTEBOOK = os.environ.get("SLUICE_NOTEBOOK", "")
JUPYTER = os.environ.get("SLUICE_JUPYTER", "")
LIMIT_SECONDS = 300

# Runs the cells in a kernel of the Python that runs this, until one fails, and prints what they have printed.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

path, folder, limit = sys.argv[1:]
notebook = nbformat.read(path, 4)
try:
    resources = {"metadata": {"path": folder}}
    NotebookClient(notebook, kernel_name="python3", timeout=int(limit), resources=resources).execute()
finally:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            print(output.get("text", output))
"""


@unittest.skipUnless(NOTEBOOK and JUPYTER, "no SLUICE_NOTEBOOK or no SLUICE_JUPYTER")
class NotebookTest(unittest.TestCase):
    def run_cells(self, python):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("SPARK_", "PYSPARK_", "JUPYTER_", "PYTHON"))}
        with tempfile.TemporaryDirectory() as folder:
            # Neither settings nor kernels of the user, whose home this would be.
            environment = {**kept, "PYTHONPATH": JUPYTER, "HOME": folder, "SPARK_LOCAL_IP": "127.0.0.1"}
            return subprocess.run([python, "-c", RUN, NOTEBOOK, folder, str(LIMIT_SECONDS)], capture_output=True,
                                  text=True, cwd=folder, env=environment, timeout=2 * LIMIT_SECONDS)

    def test_its_cells_run(self):
        done = self.run_cells(sys.executable)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("on io.sluice.spark.SluiceShuffleManager", done.stdout)
        self.assertIn("1000 customers, 1000000 orders", done.stdout)
        self.assertIn("equal: True", done.stdout)

    def test_before_the_package_is_installed_it_says_what_to_do(self):
        """In a kernel of the Python from which the environment with the package was made."""
        done = self.run_cells(sys._base_executable)
        self.assertNotEqual(done.returncode, 0)
        said = done.stdout + done.stderr
        self.assertIn("sluice_spark is not installed in this notebook's Python", said)
        self.assertIn("%pip install", said)
        self.assertNotIn("NameError", said, "the cells behind that one are not run")


if __name__ == "__main__":
    unittest.main()
