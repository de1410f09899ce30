"""`python -m sluice_spark bench`: a first look at some jobs on this machine, on stock and on Sluice.

The command starts this module twice, as the driver of an application with executors of its own, one for each engine,
and lets them run each job in turn. A driver reads names of jobs from its standard input, a line each, and answers a
line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from sluice_spark import _machine, _spark
from sluice_spark._configure import configure
from sluice_spark._errors import SluiceError

ENGINES = ("stock", "sluice")
JOBS = ("repartition", "join", "sort", "aggregate")
_LIMIT_SECONDS = 1800
_READY = "ready"
_PARTITIONS_PER_CORE = 16
_EXECUTOR_MIB = 2048
_LINES_OF_LOG = 20
_END_SECONDS = 30
_NOT_FOR_DRIVERS = ("SPARK_LOCAL_DIRS", "SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE", "PYSPARK_SUBMIT_ARGS")
_NOTE = """\
Each line is the median of {runs} runs after {warmups} to warm up, on executors of this machine ({master}), {rows} rows.
Results were equal. This is a first look: your jobs differ; 'python -m sluice_spark advise' says what their logs tell.
"""


def main(arguments: Sequence[str]) -> None:
    options = _options(arguments)
    _spark.version()
    _machine.java()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-bench-")))
        drivers = {engine: stack.enter_context(_started(engine, folder, options)) for engine in ENGINES}
        results = [_measured(job, drivers, options) for job in options.jobs]
        _show(results, options)


def _show(results: list[dict[str, Any]], options: argparse.Namespace) -> None:
    print(f"\n{'job':<12} {'stock':>9} {'Sluice':>9} {'times as fast':>14} {'bytes written':>14}")
    for result in results:
        stock, sluice = (result[engine] for engine in ENGINES)
        print(f"{result['job']:<12} {stock['median_s']:>7.2f} s {sluice['median_s']:>7.2f} s "
              f"{stock['median_s'] / sluice['median_s']:>14.2f} {sluice['bytes'] / max(1, stock['bytes']):>13.2f}x")
    print()
    print(_NOTE.format(runs=options.runs, warmups=options.warmups, master=options.master, rows=f"{options.rows:,}"))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    def at_least(least: int) -> Callable[[str], int]:
        def number(text: str) -> int:
            if int(text) < least:
                raise argparse.ArgumentTypeError(f"must be at least {least}")
            return int(text)
        return number

    cores = max(2, os.cpu_count() or 2)
    parser = argparse.ArgumentParser(
        prog="python -m sluice_spark bench",
        description="Runs some jobs on this machine, on stock and on Sluice in turn, and compares times and results.")
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"of {', '.join(JOBS)}; all if none is named")
    parser.add_argument("--rows", type=at_least(1), default=4_000_000, help="rows of the input (default: 4000000)")
    parser.add_argument("--runs", type=at_least(1), default=3, help="measured runs of each job and engine (3)")
    parser.add_argument("--warmups", type=at_least(0), default=1, help="runs before them (1)")
    parser.add_argument("--master", default=f"local-cluster[2,{cores // 2},{_EXECUTOR_MIB}]",
                        help="Spark's master (two executors that share the cores)")
    parser.add_argument("--json", metavar="FILE", help="writes all times there")
    options = parser.parse_args(arguments)
    unknown = [job for job in options.jobs if job not in JOBS]
    if unknown:
        raise SluiceError(f"there is no job '{unknown[0]}'; there are: {', '.join(JOBS)}")
    options.partitions = _PARTITIONS_PER_CORE * cores
    return options


class _Driver:
    def __init__(self, engine: str, process: "subprocess.Popen[str]", log: Path) -> None:
        self.engine, self.process, self.log = engine, process, log

    def answer(self) -> str:
        """Its next line; a driver that has said nothing for long is ended."""
        timer = threading.Timer(_LIMIT_SECONDS, self.kill)
        timer.start()
        try:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            last = "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_OF_LOG:])
            raise SluiceError(f"the application on {self.engine} has ended or was too slow; its log's end:\n{last}")
        return line

    def kill(self) -> None:
        """Its executors, too, which are in its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def run(self, job: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(job + "\n")
            self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.answer())
        return answer


@contextlib.contextmanager
def _started(engine: str, folder: Path, options: argparse.Namespace) -> Iterator[_Driver]:
    log = folder / f"{engine}.log"
    local = folder / engine
    local.mkdir()
    command = [sys.executable, "-m", "sluice_spark._bench", engine, options.master, str(options.rows),
               str(options.partitions), str(local)]
    # The two applications must differ by the engine alone.
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_DRIVERS}
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True,
            env={**environment, "SPARK_LOCAL_IP": "127.0.0.1"}, start_new_session=True)
    driver = _Driver(engine, process, log)
    try:
        driver.answer()
        yield driver
    finally:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        # It stops its application, and so the executors.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_END_SECONDS)
        driver.kill()
        process.wait()
        shutil.rmtree(local, ignore_errors=True)


def _measured(job: str, drivers: dict[str, _Driver], options: argparse.Namespace) -> dict[str, Any]:
    digests = {engine: driver.run(f"check {job}")["digest"] for engine, driver in drivers.items()}
    if digests["stock"] != digests["sluice"]:
        raise SluiceError(f"the results of {job} differ: {digests}. Please report it, with this command")
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in drivers}
    for number in range(options.warmups + options.runs):
        for engine, driver in drivers.items():
            run = driver.run(job)
            if number >= options.warmups:
                runs[engine].append(run)
        said = ", ".join(f"{engine} {run['seconds']:.2f} s" for engine, run in
                         ((engine, all_runs[-1]) for engine, all_runs in runs.items() if all_runs))
        print(f"{job}: {said or 'warming up'}", file=sys.stderr)
    result: dict[str, Any] = {"job": job, "rows": options.rows, "master": options.master, "digest": digests["stock"]}
    for engine, all_runs in runs.items():
        seconds = [run["seconds"] for run in all_runs]
        result[engine] = {"runs_s": seconds, "median_s": statistics.median(seconds), "bytes": all_runs[-1]["bytes"]}
    return result


# --- In a driver ----------------------------------------------------------------------------------------------------


def _data(spark: Any, job: str, rows: int, partitions: int) -> Any:
    table = spark.range(rows).selectExpr(
        "id", "pmod(xxhash64(id), 100000) AS k", "CAST(id % 365 AS INT) AS d", "concat('text ', id % 5000) AS t")
    if job == "repartition":
        return table.repartition(partitions, "k")
    if job == "join":
        other = spark.range(rows // 2).selectExpr("id * 2 AS id", "id % 1000 AS n")
        return table.join(other, "id")
    if job == "sort":
        return table.orderBy("k", "id")
    return table.groupBy("k", "d").agg({"id": "sum", "t": "max"})


def _shuffle_bytes(folder: Path) -> dict[Path, int]:
    found = {}
    for file in folder.rglob("shuffle_*.data"):
        with contextlib.suppress(OSError):
            found[file] = file.stat().st_size
    return found


def _work_folders() -> list[Path]:
    """What Spark's workers have below Spark's home."""
    home = _spark.home()
    return [] if home is None else list((home / "work").glob("app-*"))


def _serve(engine: str, master: str, rows: int, partitions: int, folder: Path) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    settings = {
        "spark.master": master, "spark.app.name": f"bench on {engine}", "spark.local.dir": str(folder),
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(partitions), "spark.sql.autoBroadcastJoinThreshold": "-1"}
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    # What the engine is compared with must not be this machine's own choice.
    builder = configure(builder) if engine == "sluice" else (
        builder.config("spark.shuffle.manager", "sort").config("spark.plugins", ""))
    # What Java prints must not be among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    apps = set(_work_folders())
    spark = builder.getOrCreate()

    def answer(line: str) -> None:
        answers.write(line + "\n")
        answers.flush()

    answer(_READY)
    for line in sys.stdin:
        check, job = line.startswith("check "), line.strip().rpartition(" ")[2]
        data = _data(spark, job, rows, partitions)
        if check:
            columns = [F.col(f"`{name}`") for name in data.columns]
            digest = data.select(F.count("*"), F.sum(F.xxhash64(*columns).cast("decimal(38,0)"))).first()
            answer(json.dumps({"digest": [str(value) for value in digest]}))
            continue
        before = _shuffle_bytes(folder)
        start = time.monotonic()
        data.write.format("noop").mode("overwrite").save()
        seconds = time.monotonic() - start
        written = sum(size for file, size in _shuffle_bytes(folder).items() if before.get(file) != size)
        answer(json.dumps({"seconds": seconds, "bytes": written}))
    name = spark.sparkContext.applicationId
    spark.stop()
    # Workers of local-cluster leave a copy of the jar for each executor.
    for folder in set(_work_folders()) - apps:
        if folder.name == name:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
