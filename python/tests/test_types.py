"""What mypy --strict says of the package's sources, and of programs that use the package."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MYPY = os.environ.get("SLUICE_MYPY", "")
CHECKOUT = os.environ.get("SLUICE_CHECKOUT", "")
if CHECKOUT:
    sys.path.insert(0, os.path.join(CHECKOUT, "tools", "lib"))
    import pages
LIMIT_SECONDS = 600


@unittest.skipUnless(MYPY and CHECKOUT, "no SLUICE_MYPY or no SLUICE_CHECKOUT")
class TypesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def mypy(self, *arguments):
        command = [MYPY, "--strict", "--cache-dir", str(self.folder / "cache"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=LIMIT_SECONDS)

    def package(self, change=lambda name, text: text):
        """What mypy says of the package's sources, each as CHANGE makes it; for the oldest Python, without PySpark."""
        sources = self.folder / "sluice_spark"
        sources.mkdir(exist_ok=True)
        for source in Path(CHECKOUT, "python", "src", "sluice_spark").glob("*.py"):
            text = change(source.name, source.read_text(encoding="utf-8"))
            (sources / source.name).write_text(text, encoding="utf-8")
        # PySpark is no dependency, and py4j has no types.
        settings = self.folder / "mypy.ini"
        settings.write_text("[mypy-pyspark.*,py4j.*]\nignore_missing_imports = true\nfollow_imports = skip\n")
        return self.mypy("--config-file", settings, "--python-version", "3.9", sources)

    def test_the_package(self):
        done = self.package()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        untyped = "\n\ndef untyped(n):\n    return n\n"
        wrong = self.package(lambda name, text: text + (untyped if name == "_jar.py" else ""))
        self.assertEqual(wrong.returncode, 1, wrong.stdout + wrong.stderr)
        self.assertIn("_jar.py", wrong.stdout)

    @unittest.skipUnless(os.environ.get("SLUICE_ALL") == "1" and importlib.util.find_spec("pyspark"),
                         "part of ./sluice test --all; no PySpark")
    def test_a_program_with_the_installed_package(self):
        """The page's own program: a builder stays a builder of PySpark, so the session is one of PySpark."""
        program = self.folder / "report.py"
        block, = pages.blocks("README.md", "test_pages", "python")
        program.write_text(f"{block}\nreveal_type(spark)\nsluice_spark.configure(SparkSession.builder, check=1)\n")
        done = self.mypy("--python-executable", sys.executable, program)
        self.assertIn('Revealed type is "pyspark.sql.session.SparkSession"', done.stdout, done.stderr)
        self.assertIn('error: Unexpected keyword argument "check" for "configure"', done.stdout)
        self.assertIn("Found 1 error", done.stdout)


if __name__ == "__main__":
    unittest.main()
