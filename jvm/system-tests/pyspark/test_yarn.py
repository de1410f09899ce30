"""A YARN cluster on this machine, with the external shuffle service on its NodeManager and spark.authenticate: the
commands of docs/deployment/yarn.md, as they are printed, give what Spark's own shuffle gives; with the second, blocks
are read one-sidedly between executors that have proved the application's secret; with the third, the driver is in a
container too."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import guide
from test_pyspark import BUILD, HERE, environment, in_all, recommended_arguments
from test_servers import REGISTERED
from test_standalone import one_sided_blocks

KIT = BUILD / "yarn" / "jars"
# Of a command: YARN starts seven JVMs for it.
LIMIT_SECONDS = 1800
# Executors live for seconds.
FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


def java(program):
    return str(Path(os.environ["JAVA_HOME"], "bin", program)) if "JAVA_HOME" in os.environ else program


def spark_jars():
    return Path(subprocess.run(
        [sys.executable, "-c", "import pyspark; print(pyspark.__path__[0])"], text=True, check=True, env=environment(),
        timeout=60, stdout=subprocess.PIPE).stdout.strip(), "jars")


@contextlib.contextmanager
def yarn(folder):
    """A cluster whose yarn-site.xml is in the folder; yields the shuffle service's port."""
    class_path = os.pathsep.join([str(folder), str(spark_jars() / "*"), str(KIT / "*")])
    subprocess.run([java("javac"), "-cp", class_path, "-d", folder, HERE / "MiniYarn.java"], check=True, timeout=300,
                   stderr=subprocess.DEVNULL)
    with open(folder / "yarn.log", "wb") as log:
        cluster = subprocess.Popen(
            [java("java"), "-Xmx512m", "-cp", class_path, "MiniYarn", folder], cwd=folder, env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        ready = next((line for line in cluster.stdout if line.startswith("ready ")), None)
        if ready is None:
            raise AssertionError("YARN does not start:\n" + (folder / "yarn.log").read_text()[-8000:])
        yield int(ready.split()[1])
    finally:
        cluster.stdin.close()
        try:
            cluster.wait(timeout=60)
        except subprocess.TimeoutExpired:
            cluster.kill()
        cluster.stdout.close()


def has_driver_in_container(events):
    """YARN numbers the attempts of an application whose driver it starts, and keeps the driver's output."""
    start = next(event for event in events if event["Event"] == "SparkListenerApplicationStart")
    return "App Attempt ID" in start and "Driver Logs" in start


@in_all
class YarnTest(unittest.TestCase):
    def defaults(self, folder, port, report):
        """What a site's spark-defaults.conf says, for this machine, and where a driver in a container finds the
        report's name and the loopback interface."""
        settings = {
            "spark.yarn.jars": f"local:{spark_jars()}/*", "spark.yarn.stagingDir": folder.as_uri(),
            "spark.authenticate": "true",
            # Other tests may leave YARN little of the machine.
            "spark.network.timeout": "600s", "spark.yarn.am.waitTime": "600s",
            "spark.shuffle.service.port": port, "spark.executor.instances": 2, "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": FAST_START, "spark.yarn.am.extraJavaOptions": FAST_START,
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": FAST_START, "spark.yarn.appMasterEnv.JOB_REPORT": report,
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.sql.shuffle.partitions": 6, "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": -1,
            # Both executors are on one host: without it they would read each other's files.
            "spark.shuffle.readHostLocalDisk": "false",
            "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false",
            "spark.eventLog.dir": (folder / "events").as_uri()}
        for part in ("events", "conf"):
            (folder / part).mkdir(exist_ok=True)
        text = "".join(f"{key} {value}\n" for key, value in settings.items())
        (folder / "conf" / "spark-defaults.conf").write_text(text)

    def variables(self, folder):
        arguments = recommended_arguments()
        return environment() | {
            "PATH": guide.path_with(Path(sys.executable).parent), "HADOOP_CONF_DIR": str(folder),
            "SPARK_CONF_DIR": str(folder / "conf"), "APPLICATION": str(HERE / "cluster_jobs.py"),
            "SLUICE_JAR": arguments[arguments.index("--jars") + 1]}

    def run_once(self, block, folder, port, name):
        report = folder / f"{name}.json"
        self.defaults(folder, port, report)
        known = set((folder / "events").iterdir())
        guide.run(block, folder, self.variables(folder) | {"JOB_REPORT": str(report)}, LIMIT_SECONDS)
        # Beside the events, a log's folder has checksums.
        logs = [file for new in set((folder / "events").iterdir()) - known for file in sorted(new.glob("events_*"))]
        events = [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
        return json.loads(report.read_text()), events

    def test_commands_of_the_guide(self):
        BUILD.mkdir(exist_ok=True)
        stock_command = ("spark-submit --master yarn --deploy-mode client --conf spark.shuffle.service.enabled=true "
                         '"$APPLICATION"')
        with tempfile.TemporaryDirectory(prefix="yarn-run-", dir=BUILD, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            with yarn(folder) as port:
                stock, _ = self.run_once(stock_command, folder, port, "stock")
                served, one_sided, in_cluster = (self.run_once(block, folder, port, name) for block, name in zip(
                    guide.commands("docs/deployment/yarn.md", "test_yarn"), ("served", "one-sided", "in-cluster"),
                    strict=True))
        self.assertEqual(997, len(stock["first"]))
        for report, events in (served, one_sided, in_cluster):
            self.assertEqual(stock, report)
            self.assertEqual(report["first"], report["again"])
            kinds = [event["Event"] for event in events]
            self.assertGreaterEqual(kinds.count(REGISTERED), 4)
            self.assertGreaterEqual(kinds.count("SparkListenerExecutorRemoved"), 2)
        for _, events in (served, in_cluster):
            self.assert_outputs_outlived_executors(events)
            self.assertEqual(0, one_sided_blocks(events))
        self.assertGreater(one_sided_blocks(one_sided[1]), 0)
        self.assertEqual([False, False, True], [has_driver_in_container(events) for _, events in (
            served, one_sided, in_cluster)])

    def assert_outputs_outlived_executors(self, events):
        """The job's last part reads map outputs of executors that are gone: from the service; none is made again."""
        kinds = [event["Event"] for event in events]
        removals = [n for n, kind in enumerate(kinds) if kind == "SparkListenerExecutorRemoved"]
        tasks = [event for event in events[removals[1]:] if event["Event"] == "SparkListenerTaskEnd"]
        self.assertTrue(tasks)
        self.assertEqual({"Success"}, {task["Task End Reason"]["Reason"] for task in tasks})
        metrics = [task["Task Metrics"] for task in tasks]
        self.assertEqual(0, sum(each["Shuffle Write Metrics"]["Shuffle Records Written"] for each in metrics))
        self.assertGreater(sum(each["Shuffle Read Metrics"]["Remote Blocks Fetched"] for each in metrics), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
