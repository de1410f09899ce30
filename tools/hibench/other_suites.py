"""spark-terasort, and the examples of Spark's distribution: programs without scripts, started by spark-submit."""

import datetime
import random
import re
import shutil
from dataclasses import dataclass
from typing import Callable

import maven
import outcomes
import report
from hibench_suite import NUMBER, SCRIPT_SECONDS, one_file
from processes import Failure, output_of, run


class Program:
    """What both have in common. A subclass has `name`, `names`, `checkout`, `place` and `options`."""

    def submit(self, setup, engine, jar, main, arguments, log):
        """Runs a class on an engine, with its output in `log` from there on. Returns its line in HiBench's form."""
        properties = self.place.run / "program.conf"
        values = {"spark.master": self.options.master, "spark.default.parallelism": self.options.parallelism,
                  "spark.sql.shuffle.partitions": self.options.parallelism, **setup.spark_settings(engine)}
        properties.write_text("".join(f"{key}\t{value}\n" for key, value in values.items()))
        started = datetime.datetime.now()
        command = [f"{setup.environment['SPARK_HOME']}/bin/spark-submit", "--properties-file", str(properties),
                   "--class", main, str(jar), *map(str, arguments)]
        status = run(command, log, SCRIPT_SECONDS, env=setup.environment, cwd=self.place.fresh("cwd"))
        if status:
            raise Failure(f"{main} on {engine} failed with status {status}; its output is in {log}")
        return started

    def line(self, setup, name, started, input_bytes):
        return report.make_line(name, started, input_bytes, setup.times()["seconds"])


class TeraSort(Program):
    """ehiggs' spark-terasort: TeraGen once, TeraSort on every engine."""

    name = "spark-terasort"
    names = ("terasort",)
    default_line = "3.5.7-2.12"
    SIZES = {"tiny": "10m", "small": "320m", "large": "3200m", "huge": "32g"}
    BYTES = {"m": 10 ** 6, "g": 10 ** 9}
    PACKAGE = "com.github.ehiggs.spark.terasort."

    def __init__(self, checkout, place, options):
        self.checkout, self.place, self.options = checkout, place, options
        key = checkout.digest()
        self.sources = place.base / "built" / f"spark-terasort-{key}-{options.spark}"
        self.data = place.base / "data" / f"spark-terasort-{key}-{options.size}-{options.parallelism}"

    def check(self):
        if self.options.size not in self.SIZES:
            raise Failure(f"spark-terasort has no size '{self.options.size}' here; sizes are {', '.join(self.SIZES)}")

    def needed_bytes(self):
        return 0 if (self.data / ".prepared").exists() else 4 * self.bytes()

    def bytes(self):
        text = self.SIZES[self.options.size]
        return int(text[:-1]) * self.BYTES[text[-1]]

    def build(self, logs):
        if not (self.sources / ".built").exists():
            shutil.rmtree(self.sources, ignore_errors=True)
            self.sources.parent.mkdir(parents=True, exist_ok=True)
            self.checkout.copy(self.sources)
            maven.build_terasort(self.sources, self.options.spark, logs / "build-spark-terasort.log")
            (self.sources / ".built").touch()

    def jar(self):
        return one_file(self.sources / "target", "spark-terasort-*-jar-with-dependencies.jar")

    def prepare(self, workload, setup, log):
        if (self.data / ".prepared").exists():
            return
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        self.submit(setup, "stock", self.jar(), self.PACKAGE + "TeraGen",
                    [self.SIZES[self.options.size], f"file:{self.data}/Input"], log)
        (self.data / ".prepared").touch()

    def run(self, workload, setup, engine, log):
        # Where it was, TeraSort would not write.
        self.clean(workload)
        started = self.submit(setup, engine, self.jar(), self.PACKAGE + "TeraSort",
                              [f"file:{self.data}/Input", f"file:{self.data}/Output"], log)
        return self.line(setup, "SparkTerasortEhiggs", started, self.bytes())

    def outcome(self, workload, log):
        return outcomes.tera_records(self.data / "Output")

    def clean(self, workload):
        shutil.rmtree(self.data / "Output", ignore_errors=True)


# --- Spark's examples ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """arguments: made of the size's factor and the input file; outcome: reads the run's log; input: kind of file."""
    arguments: Callable
    outcome: Callable
    input: str = None


def rows(pattern):
    """Of lines that a program has printed, each of a text and numbers."""
    def read(log):
        found = re.findall(pattern, output_of(log).read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        if not found:
            raise outcomes.NoOutcome(f"{log} has no line of the form {pattern}")
        return outcomes.Outcome(len(found), numbers={name: [float(value)] for name, value in found})
    return read


def groups(log):
    """Of the two whose keys are random in every run: the number of their groups is all but the same."""
    return outcomes.printed(log, {"groups": r"^(?:RESULT: )?(\d+)$"}, RANDOM_KEYS)


RANDOM_KEYS = 0.01
PACKAGE = "org.apache.spark.examples."
EXAMPLES = {
    "GroupByTest": Example(lambda factor, file: [8, 3_000 * factor, 1_000, 8], groups),
    "SkewedGroupByTest": Example(lambda factor, file: [8, 3_000 * factor, 1_000, 8], groups),
    "SparkTC": Example(lambda factor, file: [8],
                       lambda log: outcomes.printed(log, {"edges": r"^TC has (\d+) edges\.$"})),
    "SparkPageRank": Example(lambda factor, file: [file, 3], rows(rf"^(\S+) has rank:\s+{NUMBER}\s*\.?$"), "links"),
    "JavaWordCount": Example(lambda factor, file: [file], rows(r"^(\w+): (\d+)$"), "words"),
}


class Examples(Program):
    """Those of Spark's examples that shuffle, on the Spark of their own distribution."""

    name = "Spark's examples"
    names = tuple(EXAMPLES)
    FACTORS = {"tiny": 1, "small": 10, "large": 100}
    LINE_COUNT = 20_000

    def __init__(self, checkout, place, options):
        self.checkout, self.place, self.options = checkout, place, options
        self.data = place.base / "data" / f"examples-{options.size}"

    def check(self):
        if self.options.size not in self.FACTORS:
            raise Failure(f"the examples have no size '{self.options.size}'; sizes are {', '.join(self.FACTORS)}")

    def needed_bytes(self):
        return 50_000_000 * self.FACTORS[self.options.size]

    def build(self, logs):
        """Nothing: the jar is there."""

    def file(self, kind):
        return self.data / f"{kind}.txt"

    def prepare(self, workload, setup, log):
        kind = EXAMPLES[workload].input
        if kind and not self.file(kind).exists():
            self.data.mkdir(parents=True, exist_ok=True)
            new = self.data / f"{kind}.new"
            with open(new, "w", encoding="ascii") as lines:
                lines.writelines(generated(kind, self.LINE_COUNT * self.FACTORS[self.options.size]))
            new.rename(self.file(kind))

    def run(self, workload, setup, engine, log):
        example = EXAMPLES[workload]
        file = self.file(example.input) if example.input else None
        jar = one_file(self.checkout.folder / "examples" / "jars", "spark-examples_*.jar")
        started = self.submit(setup, engine, jar, PACKAGE + workload,
                              example.arguments(self.FACTORS[self.options.size], file), log)
        return self.line(setup, workload, started, file.stat().st_size if file else 0)

    def outcome(self, workload, log):
        return EXAMPLES[workload].outcome(log)

    def clean(self, workload):
        """Nothing: the examples print their results."""


def generated(kind, count):
    """Lines of links between pages, or of words, the same in every call."""
    dice = random.Random(7)
    pages = max(count // 10, 10)
    for _ in range(count):
        if kind == "links":
            yield f"page{int(pages * dice.random() ** 2)} page{dice.randrange(pages)}\n"
        else:
            yield " ".join(f"word{int(50_000 * dice.random() ** 3)}" for _ in range(12)) + "\n"
