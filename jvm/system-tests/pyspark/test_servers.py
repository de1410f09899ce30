"""Spark's servers on Sluice's jar, beside stock: Spark Connect, and the Thrift server with Hive's tables.

Each server is started by spark-submit with the arguments that ./sluice conf prints for Spark 4, gets clients, and is
stopped. Who carried its shuffles is in its event log.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from test_pyspark import BUILD, HERE, LIMIT_SECONDS, SETTINGS, environment, recommended_arguments

SPARKS_CLEANUP = "spark.sql.shuffleDependency.fileCleanup.enabled"
REGISTERED = "io.sluice.spark.events.ShuffleRegistered"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """A server of Spark's in a folder of its own; after `stop`, `registered` says what its event log has."""

    def __init__(self, main_class, port_arguments, sluice, folder):
        self.port, self.folder = free_port(), Path(folder)
        events = self.folder / "events"
        events.mkdir()
        settings = SETTINGS | {
            "spark.master": "local[2]", "spark.local.dir": folder, "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(), "spark.eventLog.compress": "false",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse")}
        flags = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        of_spark, of_program = port_arguments(self.port)
        command = [Path(sys.executable).with_name("spark-submit"), *flags, *(recommended_arguments() if sluice else []),
                   *of_spark, "--class", main_class, "spark-internal", *of_program]
        self.log = self.folder / "server.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)

    def await_port(self):
        end = time.monotonic() + LIMIT_SECONDS
        while not listens(self.port):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"the server does not listen:\n{self.log.read_text()[-8000:]}")
            time.sleep(0.2)

    def stop(self):
        """Spark's shutdown hook ends the application and its event log."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise

    def registered(self):
        """The paths that shuffles were registered on, and for each how often, with the number of partitions."""
        found = []
        for file in sorted((self.folder / "events").rglob("*")):
            if file.is_file():
                lines = file.read_text(encoding="utf-8").splitlines()
                events = [json.loads(line) for line in lines if REGISTERED in line]
                found += [(event["path"], event["partitions"]) for event in events]
        return found

    def shuffle_files(self):
        return [file for file in self.folder.rglob("shuffle_*") if file.is_file()]

    def await_no_shuffle_files(self):
        """Executors remove them a moment after an execution's end."""
        end = time.monotonic() + 60
        while self.shuffle_files():
            if time.monotonic() > end:
                raise AssertionError(f"these files stay: {self.shuffle_files()}\n{self.log.read_text()[-4000:]}")
            time.sleep(0.2)


@contextlib.contextmanager
def server(main_class, port_arguments, sluice):
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="server-run-", dir=BUILD, ignore_cleanup_errors=True) as folder:
        started = Server(main_class, port_arguments, sluice, folder)
        try:
            started.await_port()
            yield started
        finally:
            started.stop()


class ConnectTest(unittest.TestCase):
    """Clients of Spark Connect, with pyspark as pip installs it."""

    def results(self, sluice, files_removed, conf=()):
        """Rows, and the paths of shuffles."""
        def arguments(port):
            flags = [f"spark.connect.grpc.binding.port={port}", *conf]
            return [part for flag in flags for part in ("--conf", flag)], []

        with server("org.apache.spark.sql.connect.service.SparkConnectServer", arguments, sluice) as started:
            client = subprocess.run(
                [sys.executable, HERE / "connect_jobs.py", f"sc://127.0.0.1:{started.port}"], cwd=started.folder,
                env=environment(), timeout=LIMIT_SECONDS, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(0, client.returncode, client.stderr[-4000:] + started.log.read_text()[-4000:])
            if files_removed:
                started.await_no_shuffle_files()
            else:
                self.assertTrue(started.shuffle_files(), "they stay until the driver collects its garbage")
            started.stop()
            return json.loads(client.stdout), started.registered()

    def test_clients_get_stocks_rows(self):
        """Sluice removes the shuffles of each request's plan by itself."""
        stock, stock_shuffles = self.results(False, False, [f"{SPARKS_CLEANUP}=false"])
        sluice, shuffles = self.results(True, True, [f"{SPARKS_CLEANUP}=false"])
        self.assertEqual([], stock_shuffles)
        self.assertGreater(len(stock["join"]), 40)
        self.assertEqual(stock, sluice)
        self.assertGreaterEqual(len(shuffles), 5)
        self.assertEqual({"SQL_ROWS"}, {path for path, _ in shuffles})

    def test_spark_removes_files_of_finished_executions(self):
        """By Spark's setting, which is Connect's alone."""
        results, shuffles = self.results(True, True, [f"{SPARKS_CLEANUP}=true", "spark.sluice.sql.cleanup=off"])
        self.assertGreater(len(results["join"]), 40)
        self.assertGreaterEqual(len(shuffles), 5)


class ShellTest(unittest.TestCase):
    """The spark-sql shell: statement after statement in one application."""

    STATEMENT = "SELECT id % 7, count(*) FROM range(0, 1000, 1, 3) GROUP BY id % 7;"

    def lines(self, sluice):
        """What the shell prints of two statements, and how many files of shuffles are there in between."""
        BUILD.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="shell-run-", dir=BUILD, ignore_cleanup_errors=True) as folder:
            script = Path(folder, "script.sql")
            script.write_text("\n".join([self.STATEMENT, "!sleep 5;", f"!find {folder} -name shuffle_*.data;",
                                         self.STATEMENT, ""]), encoding="utf-8")
            settings = SETTINGS | {"spark.master": "local[2]", "spark.local.dir": folder,
                                   "spark.sql.catalogImplementation": "in-memory"}
            flags = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
            shell = subprocess.run(
                [Path(sys.executable).with_name("spark-sql"), *flags, *(recommended_arguments() if sluice else []),
                 "-f", script], cwd=folder, env=environment(), timeout=LIMIT_SECONDS, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(0, shell.returncode, shell.stderr[-4000:])
            lines = shell.stdout.splitlines()
            files = [line for line in lines if "/shuffle_" in line]
            return sorted(line for line in lines if "\t" in line), len(files)

    def test_shuffles_of_a_statement_go_when_it_has_ended(self):
        stock, stocks_files = self.lines(False)
        sluice, files = self.lines(True)
        self.assertEqual(14, len(stock))
        self.assertEqual(stock, sluice)
        self.assertGreaterEqual(stocks_files, 3)
        self.assertEqual(0, files)


class ThriftServerTest(unittest.TestCase):
    """Scripts of SQL on tables in Hive's formats, in sessions with different settings."""

    def beeline(self, started, script, wait=True):
        jars = Path(subprocess.run(
            [sys.executable, "-c", "import pyspark; print(pyspark.__path__[0])"], text=True, check=True,
            env=environment(), timeout=60, stdout=subprocess.PIPE).stdout.strip(), "jars", "*")
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        client = subprocess.Popen(
            [java, "-cp", str(jars), "org.apache.hive.beeline.BeeLine", "-u",
             f"jdbc:hive2://127.0.0.1:{started.port}", "-n", "tests", "--outputformat=csv2", "--silent=true", "-f",
             HERE / script],
            cwd=started.folder, env=environment(), stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        return self.output(client, started) if wait else client

    def output(self, client, started):
        out, err = client.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(0, client.returncode, out[-2000:] + err[-4000:] + started.log.read_text()[-4000:])
        return [line for line in out.splitlines() if line and not line.startswith(("key,", "spark."))]

    def results(self, sluice):
        def arguments(port):
            return [], ["--hiveconf", f"hive.server2.thrift.port={port}"]

        with server("org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", arguments, sluice) as started:
            self.beeline(started, "hive_tables.sql")
            clients = [self.beeline(started, name, wait=False) for name in ("first_session.sql", "second_session.sql")]
            results = [self.output(client, started) for client in clients]
            started.stop()
            return results, started.registered()

    def test_sessions_get_stocks_rows(self):
        stock, stock_shuffles = self.results(False)
        sluice, shuffles = self.results(True)
        self.assertEqual([], stock_shuffles)
        self.assertGreater(len(stock[0]), 97)
        self.assertGreater(len(stock[1]), 97)
        self.assertEqual(stock, sluice)
        # Each session has a number of partitions of its own.
        self.assertTrue({("SQL_ROWS", 3), ("SPARK", 7)} <= set(shuffles), shuffles)
        self.assertFalse({("SQL_ROWS", 7), ("SPARK", 3)} & set(shuffles), shuffles)


if __name__ == "__main__":
    unittest.main()
