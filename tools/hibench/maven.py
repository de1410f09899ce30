"""What Maven gets and builds: Spark's jars with Hadoop's and Jython's, and the checkouts' jars."""

import os
import re
import shlex
import shutil
from pathlib import Path

from processes import Failure, output_of, run

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 3600
# Versions that HiBench's and spark-terasort's POMs name are older than what compiles on Java 11 and later.
SCALA = {"2.12": "2.12.18", "2.13": "2.13.15"}
SCALA_PLUGIN = "4.9.2"
# Hadoop's examples, whose jobs generate input and whose classes HiBench's TeraSort uses.
HADOOP = "3.3.4"
# Generators of workloads that are not run here. They use a library that Spark has had until 3.1 only.
OF_OLDER_SPARK = [f"sparkbench/ml/src/main/scala/com/intel/sparkbench/ml/{name}.scala"
                  for name in ("LinearRegressionDataGenerator", "SVMDataGenerator")]
PIN_JACKSON = {"3.5": "spark-3.5", "3.3": "spark-3.3"}


def maven(arguments, log, cwd):
    """Runs Maven. Raises Failure with Maven's own errors."""
    command = ["mvn", "-B", "-ntp", *shlex.split(os.environ.get("MAVEN_ARGS", "")), *arguments]
    try:
        status = run(command, log, SECONDS, cwd=cwd)
    except FileNotFoundError:
        raise Failure("no Maven found (mvn). Install it, for example: apt-get install maven") from None
    if status:
        text = output_of(log).read_text(encoding="utf-8", errors="replace")
        errors = [line for line in re.findall(r"^\S*\[ERROR\] (.+)$", re.sub(r"\x1b\[[\d;]*m", "", text), re.MULTILINE)]
        shown = "\n".join(f"  {line[:300]}" for line in errors[:6])
        raise Failure(f"Maven failed; its output is in {output_of(log)}\n{shown}")


def spark_jars(base, line, log):
    """Puts Spark's jars with Hive and MLlib into base/spark/<line>/jars, and those of tools beside them, unless they
    are there.

    line: Spark's version with Scala's, as 3.5.7-2.12. Returns the two folders.
    """
    spark, scala = line.split("-")
    home = Path(base) / "spark" / line
    if not (home / ".complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        profiles = ["hibench", *(profile for prefix, profile in PIN_JACKSON.items() if spark.startswith(prefix + "."))]
        maven(["-q", "-f", str(ROOT / "jvm" / "spark-home" / "pom.xml"), "package", "-P" + ",".join(profiles),
               f"-Dspark.version={spark}", f"-Dscala.binary.version={scala}", f"-Doutput={home}"], log, ROOT)
        (home / ".complete").touch()
    return home / "jars", home / "tools"


def build_hibench(folder, line, log):
    """Builds HiBench's generators and Spark workloads in `folder`, a copy, with its own POMs."""
    spark, scala = line.split("-")
    for source in OF_OLDER_SPARK:
        (Path(folder) / source).unlink(missing_ok=True)
    # Its newest profile of Spark is 3.1; the properties behind it win. `bench` and `modules` turn off the default
    # profiles, which would build the benchmarks of other engines, too.
    maven(["package", "-DskipTests", "-Psparkbench,micro,ml,sql,websearch", "-Dbench=spark", "-Dmodules=four",
           "-Dspark=3.1", f"-Dscala={scala}", f"-Dspark.version={spark}", *java_and_scala(scala),
           f"-Dhadoop.mr2.version={HADOOP}"], log, folder)


def build_terasort(folder, line, log):
    """Builds spark-terasort in `folder`, with its own POM."""
    spark, scala = line.split("-")
    maven(["package", "-DskipTests", f"-Dspark.version={spark}", f"-Dscala.binary.version={scala}",
           *java_and_scala(scala)], log, folder)


def java_and_scala(scala):
    if scala not in SCALA:
        raise Failure(f"Scala {scala} is not known; known are {', '.join(SCALA)}")
    return [f"-Dscala.version={SCALA[scala]}", f"-Dscala-maven-plugin.version={SCALA_PLUGIN}",
            "-Dmaven.compiler.source=8", "-Dmaven.compiler.target=8"]
