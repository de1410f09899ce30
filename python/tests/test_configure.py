"""What configure gives to a builder, with a PySpark that is only as much as it looks at."""

import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import sluice_spark

PLUGIN = "io.sluice.spark.SluicePlugin"
MANAGER = "io.sluice.spark.SluiceShuffleManager"
JAR = sluice_spark.jar_path()
VERSION = sluice_spark.__version__


class FakeBuilder:
    def __init__(self, **options):
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key, value):
        self._options[key] = value
        return self


class FakeContext:
    _gateway = None
    _jvm = None
    _active_spark_context = None


class FakeJvm:
    """Spark's JVM as py4j shows it; loading a class of Sluice fails unless its jar is there."""

    def __init__(self, error=None):
        loader = mock.Mock()
        loader.loadClass.side_effect = error
        self.java = mock.Mock()
        self.java.lang.Thread.currentThread().getContextClassLoader.return_value = loader


class Py4JJavaError(Exception):
    pass


class ConfigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        java = self.folder / "java-home" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text("#!/bin/sh\n")
        java.chmod(0o755)
        (self.folder / "spark" / "jars").mkdir(parents=True)
        environment = {"JAVA_HOME": str(self.folder / "java-home"), "SPARK_HOME": str(self.folder / "spark"),
                       "PATH": str(self.folder / "empty")}
        self.replace(mock.patch.dict(os.environ, environment, clear=True))
        self.replace(mock.patch("platform.system", return_value="Linux"))
        self.replace(mock.patch("platform.machine", return_value="x86_64"))
        self.pyspark("4.2.0")

    def replace(self, patch):
        patch.start()
        self.addCleanup(patch.stop)

    def pyspark(self, version, context=FakeContext, settings=()):
        module, py4j, protocol = (types.ModuleType(name) for name in ("pyspark", "py4j", "py4j.protocol"))
        module.__version__, module.SparkContext = version, context
        module.SparkConf = lambda _jvm: types.SimpleNamespace(getAll=lambda: list(settings))
        module.__file__ = str(self.folder / "pyspark" / "__init__.py")
        protocol.Py4JJavaError = Py4JJavaError
        modules = {"pyspark": module, "py4j": py4j, "py4j.protocol": protocol}
        self.replace(mock.patch.dict(sys.modules, modules))

    def configured(self, builder=None, **arguments):
        builder = builder or FakeBuilder()
        self.assertIs(sluice_spark.configure(builder, **arguments), builder)
        return builder._options

    def refused(self, *parts, builder=None):
        builder = builder or FakeBuilder()
        before = dict(builder._options)
        with self.assertRaises(sluice_spark.SluiceError) as caught:
            sluice_spark.configure(builder)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertEqual(builder._options, before, "the builder was changed")

    def test_spark_4_gets_the_jar_with_spark_jars(self):
        expected = {"spark.shuffle.manager": MANAGER, "spark.plugins": PLUGIN, "spark.jars": JAR}
        self.assertEqual(self.configured(), expected)
        self.assertEqual(sluice_spark.settings(), expected)

    def test_spark_3_gets_it_on_the_class_paths(self):
        for version in ("3.3.4", "3.5.8"):
            self.pyspark(version)
            self.assertEqual(self.configured(), {
                "spark.shuffle.manager": MANAGER, "spark.plugins": PLUGIN,
                "spark.driver.extraClassPath": JAR, "spark.executor.extraClassPath": JAR,
            })

    def test_what_the_builder_has_is_kept(self):
        options = self.configured(FakeBuilder(
            spark_plugins="a.Plugin, b.Plugin", spark_jars="/x.jar", spark_shuffle_manager="sort", spark_app_name="n"
        ))
        self.assertEqual(options, {
            "spark.plugins": f"a.Plugin,b.Plugin,{PLUGIN}", "spark.jars": f"/x.jar,{JAR}",
            "spark.shuffle.manager": MANAGER, "spark.app.name": "n",
        })
        self.pyspark("3.5.8")
        options = self.configured(FakeBuilder().config("spark.driver.extraClassPath", "/a:/b"))
        self.assertEqual(options["spark.driver.extraClassPath"], f"/a:/b:{JAR}")
        self.assertEqual(options["spark.executor.extraClassPath"], JAR)

    def test_twice_is_once(self):
        once = self.configured()
        self.assertEqual(self.configured(FakeBuilder(**{k.replace(".", "_"): v for k, v in once.items()})), once)

    def test_settings_of_files_and_arguments_are_kept(self):
        (self.folder / "spark" / "conf").mkdir()
        (self.folder / "spark" / "conf" / "spark-defaults.conf").write_text(
            "# spark.plugins no.Plugin\nspark.plugins   file.Plugin\nspark.jars=/file.jar\n"
            "spark.ui.enabled: false\n\nodd\n"
        )
        options = self.configured()
        self.assertEqual(options["spark.plugins"], f"file.Plugin,{PLUGIN}")
        self.assertEqual(options["spark.jars"], f"/file.jar,{JAR}")
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--jars '/my jars/a.jar' --conf spark.plugins=args.Plugin pyspark-shell"
        options = self.configured()
        self.assertEqual(options["spark.plugins"], f"args.Plugin,{PLUGIN}")
        self.assertEqual(options["spark.jars"], f"/my jars/a.jar,{JAR}")
        options = self.configured(FakeBuilder(spark_plugins="own.Plugin"))
        self.assertEqual(options["spark.plugins"], f"own.Plugin,{PLUGIN}")
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--jars 'open"
        self.refused("PYSPARK_SUBMIT_ARGS cannot be read")

    def test_a_jar_of_this_version_is_not_added_again(self):
        same = f"sluice-{VERSION}.jar"
        there = {"spark.jars": f"hdfs://host/{same}", "spark.jars.packages": f"io.sluice:sluice:{VERSION}"}
        for key, value in there.items():
            options = self.configured(FakeBuilder().config(key, value))
            self.assertEqual(options, {"spark.shuffle.manager": MANAGER, "spark.plugins": PLUGIN, key: value})
        (self.folder / "spark" / "jars" / same).touch()
        (self.folder / "spark" / "jars" / "sluice-bench.jar").touch()
        self.assertNotIn("spark.jars", self.configured())

    def test_a_jar_of_another_version_is_refused(self):
        message = (f"twice, in two versions: {VERSION} comes with sluice-spark, and 9.9.9 is there as",)
        for key, value in (
            ("spark.jars", "/a.jar,/opt/sluice-9.9.9.jar"),
            ("spark.executor.extraClassPath", "/a:/opt/sluice-9.9.9.jar"),
            ("spark.jars.packages", "io.sluice:sluice:9.9.9"),
        ):
            self.refused(*message, builder=FakeBuilder().config(key, value))
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-class-path=/opt/sluice-9.9.9.jar pyspark-shell"
        self.refused(*message, "/opt/sluice-9.9.9.jar")
        del os.environ["PYSPARK_SUBMIT_ARGS"]
        (self.folder / "spark" / "jars" / "sluice-9.9.9.jar").touch()
        self.refused(*message, str(self.folder / "spark" / "jars" / "sluice-9.9.9.jar"))

    def test_another_shuffle_manager_is_refused(self):
        self.refused("spark.shuffle.manager is org.other.Manager",
                     builder=FakeBuilder(spark_shuffle_manager="org.other.Manager"))

    def test_other_platforms_are_refused_unless_only_the_driver_is_there(self):
        for system, machine in (("Darwin", "arm64"), ("Windows", "AMD64"), ("Linux", "ppc64le")):
            with mock.patch("platform.system", return_value=system), \
                    mock.patch("platform.machine", return_value=machine):
                self.refused(f"this is {system} on {machine}", "check_platform=False")
                self.assertEqual(self.configured(check_platform=False)["spark.jars"], JAR)

    def test_without_java(self):
        os.environ["JAVA_HOME"] = "/nowhere"
        self.refused("JAVA_HOME = /nowhere has no program bin/java")
        del os.environ["JAVA_HOME"]
        self.refused("no java is on PATH", "openjdk-17")
        os.environ["PATH"] = str(self.folder / "java-home" / "bin")
        self.assertEqual(self.configured()["spark.jars"], JAR)

    def test_without_pyspark_and_with_one_that_is_not_supported(self):
        with mock.patch.dict(sys.modules, {"pyspark": None}):
            self.refused("there is no PySpark in this Python", "sluice-spark[pyspark]")
        for version in ("3.2.4", "4.3.0", "5.0.0", "dev"):
            self.pyspark(version)
            self.refused(f"PySpark is {version}")

    def test_a_connect_client_is_refused(self):
        self.refused("sc://host:15002", "server", builder=FakeBuilder(spark_remote="sc://host:15002"))
        os.environ["SPARK_REMOTE"] = "sc://other"
        self.refused("sc://other")

    def test_a_connect_server_that_pyspark_would_start_is_refused(self):
        self.refused("local[2]", builder=FakeBuilder(spark_remote="local[2]"))
        self.refused("spark.api.mode=connect", builder=FakeBuilder(spark_api_mode="connect"))
        self.assertIn("spark.plugins", self.configured(builder=FakeBuilder(spark_api_mode="classic")))
        os.environ["SPARK_API_MODE"] = "Connect"
        self.refused("spark.api.mode=connect")
        del os.environ["SPARK_API_MODE"]
        os.environ["SPARK_CONNECT_MODE"] = "1"
        self.refused("SPARK_CONNECT_MODE=1")
        self.pyspark("3.5.8")
        self.assertIn("spark.plugins", self.configured())
        self.pyspark("4.2.0")
        del os.environ["SPARK_CONNECT_MODE"]
        os.environ["SPARK_REMOTE"] = "local"
        self.refused("(local)")

    def running(self, manager):
        context = types.SimpleNamespace(getConf=lambda: {"spark.shuffle.manager": manager} if manager else {})
        return type("Context", (FakeContext,), {"_active_spark_context": context})

    def test_a_session_that_runs_already(self):
        self.pyspark("4.2.0", self.running(MANAGER))
        self.assertEqual(self.configured(), {})
        self.pyspark("4.2.0", self.running(None))
        self.refused("a Spark session runs already, on the shuffle manager 'sort'")

    def test_a_jvm_that_runs_already(self):
        """A session was stopped, or spark-submit started Python."""
        without = type("Context", (FakeContext,), {"_jvm": FakeJvm(Py4JJavaError())})
        self.pyspark("4.2.0", without)
        self.refused("is not on its class path", "python -m sluice_spark conf")
        loaded = type("Context", (FakeContext,), {"_jvm": FakeJvm()})
        self.pyspark("4.2.0", loaded, [("spark.jars", f"file:{JAR}"), ("spark.plugins", "a.Plugin")])
        self.assertEqual(self.configured(), {"spark.shuffle.manager": MANAGER, "spark.plugins": f"a.Plugin,{PLUGIN}"})


if __name__ == "__main__":
    unittest.main()
