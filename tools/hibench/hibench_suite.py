"""HiBench's workloads, run by HiBench's own scripts."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import maven
import outcomes
import report
from processes import Failure, run


@dataclass(frozen=True)
class Workload:
    """folder: of its scripts below bin/workloads; outcome: reads a run's result from the data's folder and the run's
    log; input_bytes: estimates them from the settings of its conf file, called by the end of their names."""
    folder: str
    outcome: Callable
    input_bytes: Callable


NUMBER = r"(-?\d[\d.]*(?:[eE][-+]?\d+)?)"
# Bytes of a row that HiBench's generators write: rough estimates, to say early that a disk is too small.
VISIT_BYTES, PAGE_BYTES, DOCUMENT_BYTES, LINK_BYTES = 190, 60, 4_000, 1_300
DOUBLE_BYTES = 10

WORKLOADS = {
    "sort": Workload("micro/sort", lambda data, log: outcomes.in_order(outcomes.sequence_records(data / "Sort/Output")),
                     lambda values: values["datasize"]),
    "terasort": Workload("micro/terasort", lambda data, log: outcomes.tera_records(data / "Terasort/Output"),
                         lambda values: 100 * values["datasize"]),
    "wordcount": Workload("micro/wordcount",
                          lambda data, log: outcomes.in_any_order(outcomes.sequence_records(data / "Wordcount/Output")),
                          lambda values: values["datasize"]),
    "pagerank": Workload("websearch/pagerank", lambda data, log: outcomes.keyed_numbers(
        outcomes.sequence_records(data / "Pagerank/Output"), ","), lambda values: LINK_BYTES * values["pages"]),
    "bayes": Workload("ml/bayes", lambda data, log: outcomes.printed(log, {
        "accuracy": rf"^Test set accuracy = {NUMBER}"}), lambda values: DOCUMENT_BYTES * values["pages"]),
    "kmeans": Workload("ml/kmeans", lambda data, log: outcomes.printed(log, {
        "cost": rf"^Total cost = {NUMBER}", "examples": rf"^numExamples = {NUMBER}"}),
        lambda values: DOUBLE_BYTES * values["num_of_samples"] * values["dimensions"]),
    "join": Workload("sql/join", lambda data, log: outcomes.keyed_numbers(
        outcomes.sequence_records(data / "Join/Output/rankings_uservisits_join"), "\x01", falling=True),
        lambda values: VISIT_BYTES * values["uservisits"] + PAGE_BYTES * values["pages"]),
    "aggregation": Workload("sql/aggregation", lambda data, log: outcomes.keyed_numbers(
        outcomes.sequence_records(data / "Aggregation/Output/uservisits_aggre"), "\x01"),
        lambda values: VISIT_BYTES * values["uservisits"] + PAGE_BYTES * values["pages"]),
    "scan": Workload("sql/scan", lambda data, log: outcomes.in_any_order(
        outcomes.sequence_records(data / "Scan/Output/uservisits_copy")),
        lambda values: VISIT_BYTES * values["uservisits"] + PAGE_BYTES * values["pages"]),
}
# Input, its copy in another format, output, and the shuffle's files.
COPIES = 4
# Those that load_config.py would look for at places of a Hadoop distribution.
UNUSED_JAR = "none"
SCRIPT_SECONDS = 7200


class HiBench:
    """The workloads of one checkout at one size.

    place, options: of the call; sources: the copy in which HiBench is built; data: what all calls read and write.
    """

    name = "HiBench"
    names = tuple(WORKLOADS)
    default_line = "3.5.7-2.12"

    def __init__(self, checkout, place, options):
        self.checkout, self.place, self.options = checkout, place, options
        self.key = checkout.digest()
        self.sources = place.base / "built" / f"HiBench-{self.key}-{options.spark}"
        self.data = place.base / "data" / f"HiBench-{self.key}-{options.size}-{options.parallelism}"

    def check(self):
        """Raises Failure if the size is unknown, Scala does not fit, or there is no room, before anything is built."""
        if not self.options.spark.endswith("-2.12"):
            raise Failure(f"HiBench's sources are of Scala 2.12: --spark {self.options.spark} cannot compile them")
        for workload in self.options.workloads:
            if not self.settings_of(workload):
                sizes = re.findall(r"^hibench\.sort\.(\w+)\.datasize\s", self.conf("sort").read_text(), re.MULTILINE)
                raise Failure(f"HiBench has no size '{self.options.size}' for {workload}; sizes are {', '.join(sizes)}")

    def needed_bytes(self):
        """About how many bytes of disk the chosen workloads take that have no data yet."""
        return COPIES * sum(WORKLOADS[name].input_bytes(self.settings_of(name)) for name in self.options.workloads
                            if not self.stamp(name).exists())

    def conf(self, workload):
        return self.checkout.folder / "conf" / "workloads" / f"{WORKLOADS[workload].folder}.conf"

    def settings_of(self, workload):
        """The numbers that the workload's conf file has for the size."""
        pattern = rf"^hibench\.\w+\.{re.escape(self.options.size)}\.(\w+)\s+(\d+)\s*$"
        return {name: int(value) for name, value in re.findall(pattern, self.conf(workload).read_text(), re.MULTILINE)}

    def build(self, logs):
        """Copies and builds HiBench unless that was done before."""
        if not (self.sources / ".built").exists():
            shutil.rmtree(self.sources, ignore_errors=True)
            self.sources.parent.mkdir(parents=True, exist_ok=True)
            self.checkout.copy(self.sources)
            maven.build_hibench(self.sources, self.options.spark, logs / "build-hibench.log")
            (self.sources / ".built").touch()

    def stamp(self, workload):
        return self.data / f".{workload}.prepared"

    def prepare(self, workload, setup, log):
        """Generates the workload's input by its prepare.sh, unless it is there from an earlier call."""
        if self.stamp(workload).exists():
            return
        self.script(workload, "prepare/prepare.sh", setup, "stock", "prepare", log)
        self.stamp(workload).touch()

    def run(self, workload, setup, engine, log):
        """Runs the workload's run.sh on an engine. Returns the line of HiBench's report."""
        before = len(self.report_lines(engine))
        self.script(workload, "spark/run.sh", setup, engine, engine, log)
        lines = self.report_lines(engine)
        if len(lines) != before + 1:
            raise Failure(f"{workload} on {engine} wrote {len(lines) - before} lines to hibench.report; its output is "
                          f"in {log}")
        return lines[-1]

    def outcome(self, workload, log):
        return WORKLOADS[workload].outcome(self.data, log)

    def clean(self, workload):
        """Removes the output, which has been looked at."""
        for output in self.data.glob("*/Output"):
            shutil.rmtree(output, ignore_errors=True)

    def report_lines(self, engine):
        path = self.place.run / "report" / engine / "hibench.report"
        return report.lines(path.read_text()) if path.exists() else []

    def script(self, workload, name, setup, engine, report_name, log):
        script = self.sources / "bin" / "workloads" / WORKLOADS[workload].folder / name
        conf = self.write_conf(setup, engine, report_name)
        # The SQL workloads remove every folder called metastore_db below the one they are started in.
        here = self.place.fresh("cwd")
        link_urls(here, self.place.folder("tmp"))
        status = run(["bash", str(script)], log, SCRIPT_SECONDS, cwd=here,
                     env={**setup.environment, "HIBENCH_CONF_FOLDER": str(conf)})
        if status:
            raise Failure(f"{workload}: {name} on {engine} failed with status {status}; its output is in {log}")

    def write_conf(self, setup, engine, report_name):
        """A conf folder with HiBench's own hibench.conf and, read after it, what this machine and engine need."""
        conf = self.place.fresh("conf")
        hadoop = self.place.folder("hadoop-conf")
        shutil.copyfile(self.sources / "conf" / "hibench.conf", conf / "hibench.conf")
        write_hadoop_conf(hadoop, self.place.folder("tmp"))
        for file, values in self.values(setup, engine, report_name, hadoop).items():
            (conf / file).write_text("".join(f"{key}\t{value}\n" for key, value in values.items()))
        return conf

    def values(self, setup, engine, report_name, hadoop):
        target = self.sources / "sparkbench" / "assembly" / "target"
        hibench = {
            "hibench.scale.profile": self.options.size,
            "hibench.default.map.parallelism": self.options.parallelism,
            "hibench.default.shuffle.parallelism": self.options.parallelism,
            "hibench.hdfs.data.dir": f"file:{self.data}",
            "hibench.report.dir": self.place.folder("report", report_name),
            "hibench.masters.hostnames": "localhost",
            "hibench.slaves.hostnames": "localhost",
            "hibench.sparkbench.jar": one_file(target, "sparkbench-assembly-*-dist.jar"),
            "hibench.hibench.datatool.dir": one_file(self.sources / "autogen" / "target",
                                                     "autogen-*-jar-with-dependencies.jar"),
        }
        hadoop = {
            "hibench.hadoop.home": Path(__file__).resolve().parent,
            "hibench.hadoop.executable": "${hibench.hadoop.home}/bin/hadoop",
            "hibench.hadoop.configure.dir": hadoop,
            "hibench.hdfs.master": "file:",
            "hibench.hadoop.release": "apache",
            "hibench.hadoop.examples.jar": setup.tools / "hadoop-mapreduce-examples.jar",
            "hibench.hadoop.examples.test.jar": UNUSED_JAR,
        }
        spark = {"hibench.spark.home": setup.environment["SPARK_HOME"], "hibench.spark.master": self.options.master,
                 "spark.default.parallelism": "${hibench.default.map.parallelism}",
                 "spark.sql.shuffle.partitions": "${hibench.default.shuffle.parallelism}",
                 **setup.spark_settings(engine)}
        return {"zz-sluice.conf": hibench, "hadoop.conf": hadoop, "spark.conf": spark}


def one_file(folder, pattern):
    found = sorted(Path(folder).glob(pattern))
    if len(found) != 1:
        raise Failure(f"{folder} has {len(found)} files {pattern} where HiBench's build makes one")
    return found[0]


def link_urls(folder, target):
    """Lets file:/… of `target` be opened as a path relative to `folder`: the generator of the SQL workloads' tables
    opens files of Hadoop's cache by the names that they have in its local runner, which are URLs."""
    link = folder / f"file:{target}"
    link.parent.mkdir(parents=True)
    link.symlink_to(target)


def write_hadoop_conf(folder, temporary):
    """A Hadoop without daemons: the local file system, MapReduce in the process that submits a job."""
    def site(values):
        body = "".join(f"  <property><name>{key}</name><value>{value}</value></property>\n"
                       for key, value in values.items())
        return f"<?xml version=\"1.0\"?>\n<configuration>\n{body}</configuration>\n"
    (folder / "core-site.xml").write_text(site({"fs.defaultFS": "file:///", "hadoop.tmp.dir": temporary}))
    (folder / "mapred-site.xml").write_text(site({"mapreduce.framework.name": "local",
                                                  "mapreduce.cluster.local.dir": temporary / "mapred"}))
