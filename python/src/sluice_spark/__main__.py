"""`python -m sluice_spark`: what a command of the jar, or of Spark with the jar, does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, NoReturn, Sequence

from sluice_spark import _bench as _bench_jobs
from sluice_spark import _machine, _spark
from sluice_spark._configure import MANAGER, PLUGIN
from sluice_spark._errors import SluiceError
from sluice_spark._jar import jar_path
from sluice_spark._version import __version__

_USAGE = f"""\
Sluice {__version__}: a drop-in accelerated shuffle for Apache Spark.

usage: python -m sluice_spark COMMAND [ARGUMENTS]

  doctor           say which modes this machine can run, and what is missing (doctor --help)
  conf             print what to add to a Spark command to use Sluice, and the memory that executors will use with your
                   settings (conf spark.master=yarn spark.executor.memory=8g …)
                   conf --from FILE [--to FILE] translates a spark-defaults.conf of the RAPIDS Shuffle Manager, of
                   SparkRDMA or of SparkUCX
  advise LOG…      say from event logs of Spark what Sluice would save, and how sure that is (advise --help)
  report LOG…      make an HTML page of what Sluice did, from event logs of Spark (report --help)
  bench            run some jobs here, on stock and on Sluice, and compare times and results (bench --help)
  jar              print the path of the jar

In a program: sluice_spark.configure(SparkSession.builder).getOrCreate()
"""

_WRONG_ARGUMENTS = 2
_MEMORY_SECONDS = 120
_NEEDS_SPARK = "this needs Spark's jars: install PySpark (pip install 'sluice-spark[pyspark]') or set SPARK_HOME"


def _run_java(*arguments: str) -> NoReturn:
    """Becomes that Java program."""
    program = _machine.java()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *arguments])


def _doctor(arguments: Sequence[str]) -> NoReturn:
    home = _spark.home()
    given = any(argument.partition("=")[0] == "--spark-home" for argument in arguments)
    # The doctor itself knows SPARK_HOME, but not a Spark that pip installed.
    spark = [] if home is None or given else ["--spark-home", str(home)]
    print(f"Python {sys.version.split()[0]}, {sys.executable}; {_describe_spark(home)}", file=sys.stderr)
    _run_java("-jar", jar_path(), "doctor", *spark, *arguments)


def _describe_spark(home: Path | None) -> str:
    try:
        major, minor = _spark.version()
    except SluiceError as e:
        return str(e)
    return f"PySpark {major}.{minor}, its Spark in {home}" if home else f"PySpark {major}.{minor}, without a Spark"


def _advise(arguments: Sequence[str]) -> NoReturn:
    _show_progress()
    _run_java("-Xmx1g", "-jar", jar_path(), "advise", *arguments)


def _report(arguments: Sequence[str]) -> NoReturn:
    home = _spark.home()
    if home is None and arguments and not _ask_for_help(arguments):
        raise SluiceError(_NEEDS_SPARK)
    _show_progress()
    _give_spark_an_address()
    _run_java("-Xmx1g", "-cp", _with_spark(home), "io.sluice.Main", "report", *arguments)


def _ask_for_help(arguments: Sequence[str]) -> bool:
    """The programs of the jar print their help without Spark's classes."""
    return "--help" in arguments or "-h" in arguments


def _show_progress() -> None:
    if sys.stderr.isatty():
        os.environ["SLUICE_TERMINAL"] = "1"


def _give_spark_an_address() -> None:
    """With one, Spark does not look for the machine's, and does not warn about what it finds."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _with_spark(home: Path | None) -> str:
    return f"{jar_path()}:{home}/jars/*" if home else jar_path()


def _conf(arguments: Sequence[str]) -> None:
    home = _spark.home()
    translates = bool(arguments) and arguments[0].startswith("-")
    if home is None and arguments and not (translates and _ask_for_help(arguments)):
        raise SluiceError(_NEEDS_SPARK)
    class_path = _with_spark(home)
    if translates:
        _give_spark_an_address()
        _run_java("-Xmx256m", "-cp", class_path, "io.sluice.spark.migration.TranslateConf", *arguments)
    print(_recommended(jar_path()))
    if home is None:
        print("# The memory that executors will use is said where PySpark or SPARK_HOME is")
    else:
        named = " ".join(arguments) or "(none given; conf KEY=VALUE…)"
        print(f"# Memory outside the heap, for an application with the settings: {named}")
        print(_memory(class_path, arguments))


def _memory(class_path: str, arguments: Sequence[str]) -> str:
    command = [_machine.java(), "-cp", class_path, "io.sluice.spark.conf.MemoryLimitReport", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MEMORY_SECONDS)
    if done.returncode != 0:
        thrown = re.search(r"^Exception in thread .*?Exception: (.*)$", done.stderr, re.MULTILINE)
        why = thrown.group(1) if thrown else done.stderr.strip() or f"Java ended with {done.returncode}"
        raise SluiceError(f"the memory cannot be said for these settings: {why}")
    return "\n".join(f"# {line}" for line in done.stdout.splitlines())


def _recommended(jar: str) -> str:
    return f"""\
# In a program
  spark = sluice_spark.configure(SparkSession.builder).getOrCreate()

# Spark 4.0 and later: add to spark-submit, spark-shell, spark-sql, pyspark or sbin/start-connect-server.sh
  --jars {jar} \\
  --conf spark.plugins={PLUGIN} \\
  --conf spark.shuffle.manager={MANAGER}

# Spark 3.3 to 3.5 (and 4.x): the jar must be at the same path on the driver and on every executor's machine
  --conf spark.driver.extraClassPath={jar} \\
  --conf spark.executor.extraClassPath={jar} \\
  --conf spark.plugins={PLUGIN} \\
  --conf spark.shuffle.manager={MANAGER}

# The same for every application, as lines of conf/spark-defaults.conf
spark.driver.extraClassPath    {jar}
spark.executor.extraClassPath  {jar}
spark.plugins                  {PLUGIN}
spark.shuffle.manager          {MANAGER}
"""


def _bench(arguments: Sequence[str]) -> None:
    _bench_jobs.main(arguments)


def _jar(_: Sequence[str]) -> None:
    print(jar_path())


_COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "doctor": _doctor,
    "conf": _conf,
    "advise": _advise,
    "report": _report,
    "bench": _bench,
    "jar": _jar,
}


def main() -> int:
    """Returns the exit code: 0, 2 for wrong arguments and what cannot be done, else that of the Java program."""
    # Python ignores it, and programs that it becomes inherit that: `… | head` would end in a traceback.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    command, arguments = (sys.argv[1:2] or ["help"])[0], sys.argv[2:]
    if command in ("help", "--help", "-h"):
        print(_USAGE, end="")
        return 0
    if command == "--version":
        print(__version__)
        return 0
    if command not in _COMMANDS:
        print(f"error: unknown command '{command}'; there are: {', '.join(_COMMANDS)}", file=sys.stderr)
        return _WRONG_ARGUMENTS
    try:
        _COMMANDS[command](arguments)
    except SluiceError as e:
        print(f"error: {e}", file=sys.stderr)
        return _WRONG_ARGUMENTS
    return 0


if __name__ == "__main__":
    sys.exit(main())
