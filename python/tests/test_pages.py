"""What pages tell a user of Python and of the jar to type, typed so: in a checkout (SLUICE_CHECKOUT names it)."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

import sluice_spark

CHECKOUT = os.environ.get("SLUICE_CHECKOUT", "")
if CHECKOUT:
    sys.path.insert(0, os.path.join(CHECKOUT, "tools", "lib"))
    import pages
LIMIT_SECONDS = 600
JOB = Path(__file__).with_name("job.py")

# A program of a user, which knows nothing of Sluice.
USERS_JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
assert len(spark.range(0, 1000, 1, 2).repartition(4, "id").collect()) == 1000
print("MANAGER", spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().shuffleManager().getClass().getName())
"""

# What follows the blocks of Python: one shuffle, and how many Sluice and Spark had until then.
COUNT = """
import job as _job
assert len(spark.range(0, 1000, 1, 2).repartition(4, "id").collect()) == 1000
print("COUNTERS", __import__("json").dumps(_job.counters(spark)))
"""


@unittest.skipUnless(CHECKOUT and find_spec("pyspark"), "no SLUICE_CHECKOUT or no PySpark")
class PagesTest(unittest.TestCase):
    """The wheel is built and installed as the README says, and used in a folder that has what the pages name."""

    @classmethod
    def setUpClass(cls):
        cls.resources = contextlib.ExitStack()
        cls.addClassCleanup(cls.resources.close)
        cls.folder = Path(cls.resources.enter_context(tempfile.TemporaryDirectory()))
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "venv"], check=True, timeout=LIMIT_SECONDS)
        cls.link_pyspark()
        (cls.folder / "logs").mkdir()
        cls.write_defaults({})
        cls.built = cls.typed(*pages.commands("README.md", "test_pages")[:1], folder=CHECKOUT)
        cls.jar, = Path(CHECKOUT, "build").glob("sluice-[0-9]*.jar")
        (cls.folder / cls.jar.name).symlink_to(cls.jar)
        (cls.folder / "build").mkdir()
        (cls.folder / "build" / cls.jar.name).symlink_to(cls.jar)
        cls.typed(pages.commands("README.md", "test_pages")[1], folder=CHECKOUT)
        cls.counters = cls.run_python()

    @classmethod
    def link_pyspark(cls):
        """PySpark, for the environment in which the page's pip installs the wheel."""
        packages = cls.folder / "packages"
        packages.mkdir()
        for name in ("pyspark", "py4j"):
            (packages / name).symlink_to(Path(find_spec(name).origin).parent)
        cls.spark = packages / "pyspark"

    @classmethod
    def write_defaults(cls, more):
        """What the site's spark-defaults.conf says: where a job runs, and that its events are logged."""
        settings = {
            "spark.master": "local[2]", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": cls.folder / "local",
            "spark.eventLog.enabled": "true", "spark.eventLog.dir": (cls.folder / "logs").as_uri(), **more}
        conf = cls.folder / "conf"
        conf.mkdir(exist_ok=True)
        (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))

    @classmethod
    def variables(cls):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        folders = [cls.folder / "venv" / "bin", cls.spark / "bin"]
        if "JAVA_HOME" in os.environ:
            folders.append(Path(os.environ["JAVA_HOME"], "bin"))
        return {**kept, "PATH": pages.path_with(*folders), "SPARK_CONF_DIR": str(cls.folder / "conf"),
                "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join([str(cls.folder / "packages"),
                                                                             str(JOB.parent)]),
                "PYTHONDONTWRITEBYTECODE": "1",
                "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"}

    @classmethod
    def typed(cls, block, folder=None, **places):
        """What a block prints that is run as it is printed, but with places of this machine for those of the page."""
        for place, here in {"/path/to/spark": cls.spark, "/path/to/event-logs": cls.folder / "logs",
                            "<version>": sluice_spark.__version__, **places}.items():
            block = block.replace(place, str(here))
        return pages.run(block, folder or cls.folder, cls.variables(), LIMIT_SECONDS)

    @classmethod
    def run_python(cls):
        """The pages' Python, with a shuffle after each block; the counters of both."""
        with_wheel, switch = pages.blocks("docs/start.md", "test_pages", "python")
        program = cls.folder / "report.py"
        program.write_text(f"{with_wheel}\n{COUNT}\n{switch}\n{COUNT}\nspark.stop()\n")
        said = cls.typed("python report.py").splitlines()
        return [json.loads(line[len("COUNTERS "):]) for line in said if line.startswith("COUNTERS ")]

    def test_the_pages_say_the_same(self):
        install = pages.commands("README.md", "test_pages")
        self.assertEqual(pages.commands("docs/start.md", "test_pages")[0], install[0])
        self.assertEqual(pages.commands("docs/deployment/python.md", "test_pages"), install[1:])
        configure = pages.blocks("docs/start.md", "test_pages", "python")[:1]
        self.assertEqual(pages.blocks("README.md", "test_pages", "python"), configure)
        self.assertEqual(pages.blocks("docs/deployment/python.md", "test_pages", "python"), configure)
        self.assertEqual(pages.blocks("python/README.md", "test_pages", "python"), configure)

    def test_the_jar_and_the_wheel_are_where_the_page_says(self):
        self.assertIn(f"Built {self.jar}", self.built)
        self.assertIn(f"`build/{self.jar.name}`", Path(CHECKOUT, "README.md").read_text(encoding="utf-8"))
        installed = self.typed("python -m sluice_spark jar").strip()
        self.assertTrue(installed.startswith(str(self.folder / "venv")), installed)
        self.assertEqual(Path(installed).read_bytes(), self.jar.read_bytes())

    def test_configure_takes_shuffles_and_the_session_gives_them_back(self):
        first, second = self.counters
        self.assertEqual((first["SHUFFLES_ROWS"], first["SHUFFLES_STOCK"]), (1, 0))
        self.assertEqual((second["SHUFFLES_ROWS"], second["SHUFFLES_STOCK"]), (1, 1))

    def test_the_jar_says_the_memory_of_executors(self):
        start = pages.commands("docs/start.md", "test_pages")[-1]
        yarn, = pages.commands("docs/deployment/yarn.md", "test_pages")
        kubernetes, = pages.commands("docs/deployment/kubernetes.md", "test_pages")
        for block in (start, yarn, kubernetes):
            with self.subTest(block):
                self.assertIn("shuffles of one executor use up to", self.typed(block))

    def test_the_package_recommends_the_same_settings_as_the_checkout(self):
        """So that what is tried with those of ./sluice conf holds for the wheel's."""
        installed = self.typed("python -m sluice_spark jar").strip()
        of_package, of_checkout = (
            [" ".join(line.replace(str(jar), "JAR").split()) for line in self.typed(command, folder=folder).splitlines()
             if line.startswith(("  --", "spark.")) or "shuffles of one executor use up to" in line]
            for command, jar, folder in (("python -m sluice_spark conf spark.executor.memory=8g", installed, None),
                                         ("./sluice conf spark.executor.memory=8g", self.jar, CHECKOUT)))
        self.assertEqual(of_package, of_checkout)
        self.assertIn("--conf spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager", of_package)
        self.assertIn("spark.executor.extraClassPath JAR", of_package)
        self.assertIn("shuffles of one executor use up to", of_package[-1])

    def test_the_jar_and_the_package_translate(self):
        settings = "spark.shuffle.manager com.nvidia.spark.rapids.spark350.RapidsShuffleManager\n"
        for name in ("spark-defaults.conf", "FILE"):
            (self.folder / name).write_text(settings)
        by_jar, by_package = pages.commands("docs/migration.md", "test_pages")
        translated = "spark.shuffle.manager  io.sluice.spark.SluiceShuffleManager"
        self.assertRegex(self.typed(by_jar), "(?m)^spark.shuffle.manager[ =]+io.sluice.spark.SluiceShuffleManager$")
        self.assertIn(translated.split()[1], (self.folder / "sluice-defaults.conf").read_text())
        self.assertIn(translated.split()[1], self.typed(by_package))

    def test_a_report_of_event_logs(self):
        for block in pages.commands("docs/watching.md", "test_pages"):
            with self.subTest(block):
                self.typed(block)
                page = self.folder / "report.html"
                self.assertIn("Rows written</th><td>1,000<", page.read_text(encoding="utf-8"))
                page.unlink()

    def test_the_advisor_and_the_doctor(self):
        advice, = pages.commands("docs/advisor.md", "test_pages")
        self.assertIn("report (local-", self.typed(advice))
        self.assertIn("</html>", (self.folder / "advice.html").read_text(encoding="utf-8"))
        doctor = pages.commands("docs/deployment/doctor.md", "test_pages")[0]
        self.assertRegex(self.typed(doctor), r"MULTITHREADED +ready")

    @unittest.skipUnless(os.environ.get("SLUICE_ALL") == "1", "part of ./sluice test --all")
    def test_perftest_between_two_processes(self):
        block, = pages.commands("docs/deployment/doctor.md", "test_pages")[1:]
        listen, connect = block.split("\n")
        listener = subprocess.Popen(
            # In place of the shell, so that it is what ends.
            ["bash", "-c", f"exec {listen}"], cwd=self.folder, env=self.variables(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = next((line for line in listener.stdout if "listening at port" in line), None)
            if said is None:
                self.skipTest("perftest does not listen here: PerfTestJarTest says why")
            self.assertIn("one-sided reads work between these processes", self.typed(connect, HOST="127.0.0.1"))
        finally:
            listener.terminate()
            listener.wait(timeout=60)
            listener.stdout.close()

    @unittest.skipUnless(os.environ.get("SLUICE_ALL") == "1", "part of ./sluice test --all")
    def test_spark_submit(self):
        (self.folder / "your-job.py").write_text(USERS_JOB)
        opt = self.folder / "opt"
        shutil.copytree(self.folder / "build", opt)
        _, with_jars, on_class_path, _ = pages.commands("docs/start.md", "test_pages")
        for block in (with_jars, on_class_path):
            with self.subTest(block):
                said = self.typed(block, **{"/opt/sluice": opt})
                self.assertIn("MANAGER io.sluice.spark.SluiceShuffleManager", said)


if __name__ == "__main__":
    unittest.main()
