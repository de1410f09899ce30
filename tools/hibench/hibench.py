#!/usr/bin/env python3
"""./sluice hibench: HiBench as it is, spark-terasort or Spark's examples, on Spark's shuffle and on Sluice in turn."""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# No folder of compiled modules beside the sources.
sys.dont_write_bytecode = True

import checkout as checkouts
import engines
import events
import maven
import outcomes
import place as places
import processes
import report
import sequence_file
from hibench_suite import HiBench
from other_suites import Examples, TeraSort
from processes import Failure

SUITES = {checkouts.HIBENCH: HiBench, checkouts.TERASORT: TeraSort, checkouts.SPARK: Examples}
# What can be wrong with one run, after which the others go on.
RUN_FAILURES = (Failure, outcomes.NoOutcome, sequence_file.BadSequenceFile, events.BadLog, report.BadReport)
MASTER = re.compile(r"local-cluster\[\d+,\d+,(\d+)\]")
LINE = re.compile(r"3\.[345]\.\d+-2\.1[23]")

EPILOG = """\
DIR is your own checkout of HiBench or of ehiggs' spark-terasort, or an unpacked distribution of Spark, whose
examples are run. Nothing is written into it: it is copied to build/hibench and built there by Maven, once per
state of its files. Input is generated once per size, too, and kept in build/hibench/data. docs/hibench.md says
what is run and how.
"""


def arguments(given):
    parser = argparse.ArgumentParser(prog="./sluice hibench", description=__doc__.split(": ", 1)[1], epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", metavar="DIR", type=Path)
    parser.add_argument("--size", default="small", help="HiBench's profile: tiny, small, large, … (default: small)")
    parser.add_argument("--workloads", help="with commas; all, unless given")
    parser.add_argument("--engines", help=f"with commas, stock first; of {', '.join(engines.SETTINGS)}. Unless given, "
                                          "stock,sluice,sluice-ucx (without the last where there is no UCX)")
    parser.add_argument("--runs", type=positive, default=3, help="of every engine, in turn (default: 3)")
    parser.add_argument("--spark", help="with Scala's version (default: 3.5.7-2.12); a distribution has its own")
    parser.add_argument("--master", default="local-cluster[2,1,4096]", help="default: %(default)s")
    parser.add_argument("--parallelism", type=positive, default=8,
                        help="HiBench's map and shuffle parallelism (default: 8, as in its hibench.conf)")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE",
                        help="a Spark setting for all engines")
    parser.add_argument("--results", type=Path,
                        help="folder for results and logs (default: build/hibench/results/<time>)")
    parser.add_argument("--force", action="store_true", help="also where the disk seems too small")
    return parser.parse_args(given)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return value


def checked(options):
    """Reads what is in lists and forms. Raises Failure with what is wrong."""
    options.engines_named = options.engines is not None
    options.engines = engines.chosen(options.engines)
    found = MASTER.fullmatch(options.master)
    if not found:
        raise Failure(f"--master '{options.master}' is not of the form local-cluster[executors,cores,MiB]")
    options.executor_mib = int(found[1])
    options.user = dict(setting(text) for text in options.conf)
    source = checkouts.recognise(options.dir)
    suite = SUITES[source.kind]
    if source.kind == checkouts.SPARK:
        if options.spark:
            raise Failure(f"--spark is not for a distribution: {source.folder} has its own Spark")
        jars = source.folder / "jars"
        options.spark = f"{places.spark_version(jars)}-{places.scala_version(jars)}"
    else:
        options.spark = options.spark or suite.default_line
        if not LINE.fullmatch(options.spark):
            raise Failure(f"--spark '{options.spark}' is not of the form 3.5.7-2.12; HiBench runs on Spark 3.3 to 3.5")
    options.workloads = chosen_workloads(options.workloads, suite)
    return source, suite


def setting(text):
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark.") or re.search(r"\s", key):
        raise Failure(f"--conf takes spark.<key>=<value>, not '{text}'")
    return key, value


def chosen_workloads(text, suite):
    names = list(suite.names) if text is None else text.split(",")
    unknown = [name for name in names if name not in suite.names]
    if unknown:
        raise Failure(f"{suite.name} has no workload '{unknown[0]}' here; there are {', '.join(suite.names)}")
    return list(dict.fromkeys(names))


class Setup:
    """What every program of a call is run with.

    environment: variables; jars, tools: folders, the second None where none is needed.
    """

    def __init__(self, place, options, jars, tools, sluice_jar):
        self.place, self.options, self.tools, self.jar = place, options, tools, sluice_jar
        self.environment = place.environment(jars, tools)

    def spark_settings(self, engine):
        """The same for all engines, but for the engine's own."""
        return {
            "spark.executor.memory": f"{self.options.executor_mib}m",
            "spark.driver.memory": "2g",
            "spark.local.dir": self.place.folder("local"),
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file:{self.place.folder('events')}",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            # All executors are there before the first task.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            # Blocks of other executors come over the transport, as from other machines, and not from their files.
            "spark.shuffle.readHostLocalDisk": "false",
            **engines.settings(engine, self.jar, self.options.user)}

    def times(self):
        return json.loads((self.place.run / "times.json").read_text())


def measure(suite, setup, place, options, logs, results):
    """Runs all workloads on all engines. Returns the runs and the failures in words."""
    runs, failures = [], []
    for workload in options.workloads:
        say(f"{workload}: input")
        try:
            suite.prepare(workload, setup, logs / f"{workload}-prepare.log")
        except Failure as failure:
            failures.append(str(failure))
            say(f"  FAILED: {failure}")
            continue
        reference = None
        for turn in range(1, options.runs + 1):
            for engine in options.engines:
                try:
                    run, outcome = one_run(suite, setup, place, workload, engine, turn, logs)
                except RUN_FAILURES as failure:
                    failures.append(f"{workload} on {engine}, run {turn}: {failure}")
                    say(f"  FAILED: {failures[-1]}")
                    continue
                reference = reference or outcome
                run.difference = outcomes.difference(reference, outcome)
                if run.difference:
                    failures.append(f"{workload} on {engine}, run {turn}: {run.difference}")
                runs.append(run)
                say(f"  {engine:12} {run.seconds:8.1f} s{'  NOT EQUAL: ' + run.difference if run.difference else ''}")
                write_json(results, suite, options, runs, failures)
        suite.clean(workload)
    return runs, failures


def one_run(suite, setup, place, workload, engine, turn, logs):
    log = logs / f"{workload}-{engine}-{turn}.log"
    for folder in ("events", "local"):
        place.fresh(folder)
    (place.run / "times.json").unlink(missing_ok=True)
    line = suite.run(workload, setup, engine, log)
    _, input_bytes, seconds = report.parse(line)
    times, seen = setup.times(), events.read(place.run / "events")
    if engine == engines.STOCK and seen["sluiceShuffles"]:
        raise Failure("Sluice carried shuffles of the engine stock")
    if engine != engines.STOCK and not seen["sluiceShuffles"] and seen["shuffleBytes"]:
        raise Failure(f"Sluice carried no shuffle, and Spark did: {seen['sparkShuffles'] or 'no reason is told'}")
    outcome = suite.outcome(workload, log)
    return report.Run(workload, engine, turn, line.rstrip(), seconds, input_bytes, times["seconds"],
                      times["cpuSeconds"], seen, outcome.summary()), outcome


def environment(options, suite):
    memory = re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "sluice": sluice_commit(),
            "suite": suite.name, "suiteCommit": suite.checkout.commit, "spark": options.spark, "master": options.master,
            "cores": os.cpu_count(), "memoryMib": int(memory[1]) >> 10, "cpu": model[1] if model else None,
            "load": os.getloadavg()[0], "size": options.size, "parallelism": options.parallelism, "runs": options.runs,
            "engines": options.engines, "conf": options.user, "command": "./sluice hibench " + " ".join(sys.argv[1:])}


def sluice_commit():
    said = subprocess.run(["git", "-C", str(maven.ROOT), "describe", "--always", "--dirty=+"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return said.stdout.decode().strip() or None


def write_json(results, suite, options, runs, failures):
    """Written anew after every run, so that a call that is ended leaves what it has."""
    new = results / "results.json.new"
    new.write_text(json.dumps({"environment": environment(options, suite), "failures": failures,
                               "runs": [vars(run) for run in runs]}, indent=1) + "\n")
    new.rename(results / "results.json")


def say(text):
    print(text, file=sys.stderr, flush=True)


def sluice_jar():
    """Builds Sluice's jar if it is out of date. SLUICE_JAR names one that is built."""
    if os.environ.get("SLUICE_JAR"):
        return Path(os.environ["SLUICE_JAR"])
    if subprocess.call([str(maven.ROOT / "sluice"), "build"], stdout=subprocess.DEVNULL):
        raise Failure("Sluice could not be built; see above")
    version = re.search(r"<version>(.*?)</version>", (maven.ROOT / "jvm" / "pom.xml").read_text())[1]
    return maven.ROOT / "build" / f"sluice-{version}.jar"


def call(options):
    source, suite_type = checked(options)
    place = places.Place(maven.ROOT / "build" / "hibench")
    try:
        suite = suite_type(source, place, options)
        suite.check()
        if not options.force:
            places.check_space(f"{suite.name}'s workloads at {options.size}", suite.needed_bytes(), place.base)
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        results = (options.results or place.base / "results" / stamp).resolve()
        if results.exists() and any(results.iterdir()):
            raise Failure(f"{results} has files already; --results takes a new or an empty folder")
        logs = results / "logs"
        logs.mkdir(parents=True)
        jar = sluice_jar()
        options.engines, note = engines.with_library(options.engines, jar, options.engines_named)
        if note:
            say(note)
        if source.kind == checkouts.SPARK:
            jars, tools = source.folder / "jars", None
        else:
            say(f"Spark {options.spark} with Hive and MLlib")
            jars, tools = maven.spark_jars(place.base, options.spark, logs / "spark-jars.log")
        say(f"{suite.name}: build")
        suite.build(logs)
        setup = Setup(place, options, jars, tools, jar)
        runs, failures = measure(suite, setup, place, options, logs, results)
        return finish(runs, failures, options, results)
    finally:
        place.close()


def finish(runs, failures, options, results):
    text = report.table(runs, options.workloads, options.engines)
    lines = report.hibench_report(runs, options.workloads, options.engines)
    (results / "table.md").write_text(text + "\n")
    (results / "hibench.report").write_text(lines + "\n")
    print(f"{lines}\n\n{text}\n\nMedians of {options.runs} runs of every engine in turn. Results and logs: {results}")
    if failures:
        raise Failure("not everything ran and was equal:\n" + "\n".join(f"  {failure}" for failure in failures))


def main():
    options = arguments(sys.argv[1:])
    processes.stop_on_termination()
    try:
        call(options)
    except Failure as failure:
        sys.exit(f"error: {failure}")
    except KeyboardInterrupt:
        sys.exit("ended by a signal; no process is left")


if __name__ == "__main__":
    main()
