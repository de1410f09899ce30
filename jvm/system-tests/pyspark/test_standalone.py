"""A standalone cluster on this machine, with spark.authenticate: the commands of docs/deployment/standalone.md, as they
are printed, give what Spark's own shuffle gives, and blocks are read one-sidedly."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import guide
from test_pyspark import BUILD, HERE, environment, in_all, recommended_arguments
from test_servers import REGISTERED, free_port, listens

LIMIT_SECONDS = 600
WORKER_HOSTS = ("127.0.0.2", "127.0.0.3")
FIGURES = "io.sluice.spark.events.ExecutorFigures"


def await_true(what, condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what())
        time.sleep(0.2)


@contextlib.contextmanager
def running(block, folder, name, variables):
    """A block whose program runs until it is stopped; yields the file with what it prints."""
    log = folder / f"{name}.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=variables,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    try:
        yield log
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=60)


def one_sided_blocks(events):
    """How many blocks the executors of an event log have read one-sidedly."""
    return sum(event["figures"].get("transport.blocks", 0) for event in events if event["Event"] == FIGURES)


@in_all
class StandaloneTest(unittest.TestCase):
    def variables(self, folder):
        settings = {
            "spark.authenticate": "true", "spark.authenticate.secret": "of this test",
            "spark.executor.memory": "512m", "spark.executor.cores": 1, "spark.cores.max": 2,
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.master.ui.port": 0, "spark.worker.ui.port": 0, "spark.master.rest.enabled": "false",
            "spark.sql.shuffle.partitions": 6, "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": -1, "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false", "spark.eventLog.dir": (folder / "events").as_uri(),
            # Both workers are on one machine: without it executors would read each other's files.
            "spark.shuffle.readHostLocalDisk": "false"}
        (folder / "events").mkdir()
        (folder / "conf").mkdir()
        text = "".join(f"{key} {value}\n" for key, value in settings.items())
        (folder / "conf" / "spark-defaults.conf").write_text(text)
        arguments = recommended_arguments()
        return environment() | {
            "PATH": guide.path_with(Path(sys.executable).parent), "SPARK_CONF_DIR": str(folder / "conf"),
            "MASTER_HOST": "127.0.0.1", "MASTER_PORT": str(free_port()), "SPARK_NO_DAEMONIZE": "1",
            "APPLICATION": str(HERE / "cluster_jobs.py"), "SLUICE_JAR": arguments[arguments.index("--jars") + 1]}

    def run_once(self, block, folder, name, variables):
        report = folder / f"{name}.json"
        known = set((folder / "events").iterdir())
        guide.run(block, folder, variables | {"JOB_REPORT": str(report)}, LIMIT_SECONDS)
        logs = [file for new in set((folder / "events").iterdir()) - known
                for file in ([new] if new.is_file() else sorted(new.glob("events_*")))]
        events = [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
        return json.loads(report.read_text()), events

    def test_commands_of_the_guide(self):
        BUILD.mkdir(exist_ok=True)
        stock_command = 'spark-submit --master "spark://$MASTER_HOST:$MASTER_PORT" "$APPLICATION"'
        master, worker, submit, one_sided = guide.commands("docs/deployment/standalone.md", "test_standalone")
        with tempfile.TemporaryDirectory(prefix="standalone-run-", dir=BUILD, ignore_cleanup_errors=True) as name, \
                contextlib.ExitStack() as cluster:
            folder = Path(name)
            variables = self.variables(folder)
            log = cluster.enter_context(running(master, folder, "master", variables))
            await_true(lambda: log.read_text()[-8000:], lambda: listens(int(variables["MASTER_PORT"])))
            for host in WORKER_HOSTS:
                own = {"SPARK_LOCAL_IP": host, "SPARK_WORKER_DIR": str(folder / host), "SPARK_WORKER_CORES": "1",
                       "SPARK_WORKER_MEMORY": "1g"}
                cluster.enter_context(running(worker, folder, host, variables | own))
            stock, _ = self.run_once(stock_command, folder, "stock", variables)
            plain, plain_events = self.run_once(submit, folder, "plain", variables)
            fast, fast_events = self.run_once(one_sided, folder, "one-sided", variables)
        self.assertEqual(997, len(stock["first"]))
        self.assertEqual(stock, plain)
        self.assertEqual(stock, fast)
        for events in (plain_events, fast_events):
            self.assertGreaterEqual([event["Event"] for event in events].count(REGISTERED), 4)
        self.assertEqual(0, one_sided_blocks(plain_events))
        self.assertGreater(one_sided_blocks(fast_events), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
