"""`python -m sluice_spark` as a user starts it, with a Java that says what it was asked."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sluice_spark

LIMIT_SECONDS = 60


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        java = self.folder / "bin" / "java"
        java.parent.mkdir()
        java.write_text('#!/bin/sh\nprintf "<%s>" "$@"; echo; exit 7\n')
        java.chmod(0o755)
        (self.folder / "spark").mkdir()

    def run_command(self, *arguments, **changes):
        environment = {"PATH": "/nowhere", "JAVA_HOME": str(self.folder), "SPARK_HOME": str(self.folder / "spark")}
        environment = {name: value for name, value in {**environment, **changes}.items() if value is not None}
        return subprocess.run([sys.executable, "-m", "sluice_spark", *arguments], capture_output=True, text=True,
                              env=environment, cwd=self.folder, timeout=LIMIT_SECONDS)

    def test_help_names_the_commands(self):
        for arguments in ((), ("help",), ("--help",)):
            done = self.run_command(*arguments)
            self.assertEqual(done.returncode, 0)
            for command in ("doctor", "conf", "advise", "report", "bench", "jar"):
                self.assertIn(f"\n  {command} ", done.stdout)
        self.assertEqual(self.run_command("--version").stdout, sluice_spark.__version__ + "\n")
        self.assertEqual(self.run_command("jar").stdout, sluice_spark.jar_path() + "\n")

    def test_doctor_and_advise_are_the_jars(self):
        doctor = self.run_command("doctor", "--json")
        home = self.folder / "spark"
        self.assertEqual(doctor.stdout, f"<-jar><{sluice_spark.jar_path()}><doctor><--spark-home><{home}><--json>\n")
        self.assertEqual(doctor.returncode, 7)
        self.assertIn("Python ", doctor.stderr)
        given = self.run_command("doctor", "--spark-home=/mine")
        self.assertEqual(given.stdout, f"<-jar><{sluice_spark.jar_path()}><doctor><--spark-home=/mine>\n")
        advise = self.run_command("advise", "a log", "--json")
        self.assertEqual(advise.stdout, f"<-Xmx1g><-jar><{sluice_spark.jar_path()}><advise><a log><--json>\n")
        self.assertEqual(advise.returncode, 7)

    def test_report_is_the_jars_with_sparks_classes(self):
        done = self.run_command("report", "a log", "-o", "page.html")
        class_path = f"{sluice_spark.jar_path()}:{self.folder}/spark/jars/*"
        self.assertEqual(done.stdout, f"<-Xmx1g><-cp><{class_path}><io.sluice.Main><report><a log><-o><page.html>\n")
        self.assertEqual(done.returncode, 7)

    def test_conf_translates(self):
        done = self.run_command("conf", "--from", "defaults.conf")
        self.assertIn(f"<-cp><{sluice_spark.jar_path()}:{self.folder}/spark/jars/*>", done.stdout)
        self.assertIn("TranslateConf><--from><defaults.conf>", done.stdout)

    def test_help_needs_no_spark(self):
        # Neither SPARK_HOME nor a PySpark.
        (self.folder / "pyspark.py").write_text("raise ImportError")
        jar = sluice_spark.jar_path()
        for arguments in ((), ("--help",), ("-h",)):
            given = "".join(f"<{argument}>" for argument in arguments)
            done = self.run_command("report", *arguments, SPARK_HOME=None)
            self.assertEqual(done.stdout, f"<-Xmx1g><-cp><{jar}><io.sluice.Main><report>{given}\n", done.stderr)
        done = self.run_command("conf", "--help", SPARK_HOME=None)
        self.assertIn(f"<-cp><{jar}>", done.stdout)
        for arguments in (("report", "log"), ("conf", "--from", "file"), ("conf", "spark.executor.cores=2")):
            done = self.run_command(*arguments, SPARK_HOME=None)
            self.assertEqual(done.returncode, 2)
            self.assertIn("this needs Spark's jars", done.stderr)

    def test_what_cannot_be_done_is_an_error(self):
        for arguments, changes, part in (
            (("bench", "nothing"), {}, "repartition, join, sort, aggregate"),
            (("perftest",), {}, "unknown command 'perftest'"),
            (("doctor",), {"JAVA_HOME": None}, "no java is on PATH"),
            (("advise", "log"), {"JAVA_HOME": "/nowhere"}, "JAVA_HOME = /nowhere has no program bin/java"),
            (("conf", "spark.executor.cores=2"), {}, "the memory cannot be said"),
        ):
            done = self.run_command(*arguments, **changes)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(part, done.stderr)
            self.assertTrue(done.stderr.splitlines()[-1].startswith("error: ") or "error: " in done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_an_old_python_is_told_which_one_is_needed(self):
        """The check alone, with the version replaced, as an interpreter that old may not be here."""
        source = Path(sluice_spark.__file__).read_text()
        check = source[:source.index("from sluice_spark.")]
        with self.assertRaises(ImportError) as caught:
            exec(check.replace("sys.version_info", "(2, 7, 18)"), {})
        self.assertIn("needs Python 3.9 or later, this is 2.7", str(caught.exception))

    def test_a_checkout_has_no_jar_and_says_so(self):
        package = Path(sluice_spark.__file__).parent
        copy = self.folder / "sluice_spark"
        copy.mkdir()
        for source in package.glob("*.py"):
            (copy / source.name).write_text(source.read_text())
        done = self.run_command("jar", PYTHONPATH=str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("./sluice wheel", done.stderr)


if __name__ == "__main__":
    unittest.main()
