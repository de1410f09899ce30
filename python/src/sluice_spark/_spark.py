"""The Spark that this Python would start: its version, home, and the settings it gets without the builder."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

from sluice_spark._errors import SluiceError

_OLDEST, _NEWEST = (3, 3), (4, 2)


def version() -> tuple[int, int]:
    """Major and minor version of the PySpark that is imported; raises `SluiceError` for none or an unsupported one."""
    try:
        import pyspark
    except ImportError as e:
        raise SluiceError(
            "there is no PySpark in this Python. Install it (pip install 'sluice-spark[pyspark]'), or put that of a "
            "Spark installation on PYTHONPATH ($SPARK_HOME/python and the py4j zip in its lib)"
        ) from e
    found = re.match(r"(\d+)\.(\d+)", pyspark.__version__)
    line = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not _OLDEST <= line <= _NEWEST:
        raise SluiceError(
            f"this Sluice works with Spark {_text(_OLDEST)} to {_text(_NEWEST)}, and PySpark is {pyspark.__version__}. "
            "Install a PySpark of these lines, or a sluice-spark for that one"
        )
    return line


def _text(line: tuple[int, int]) -> str:
    return f"{line[0]}.{line[1]}"


def home() -> Path | None:
    """The folder that has Spark's `jars`: SPARK_HOME, or PySpark's own folder when pip brought Spark with it."""
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    try:
        import pyspark
    except ImportError:
        return None
    folder = Path(pyspark.__file__).parent
    return folder if (folder / "jars").is_dir() else None


def settings_elsewhere() -> dict[str, str]:
    """The settings of spark-defaults.conf and of PYSPARK_SUBMIT_ARGS, which the builder's would replace."""
    return {**_defaults(), **_submit_arguments()}


def _defaults() -> dict[str, str]:
    folder, conf = home(), os.environ.get("SPARK_CONF_DIR")
    if conf is None and folder is not None:
        conf = str(folder / "conf")
    found: dict[str, str] = {}
    if conf is None:
        return found
    try:
        lines = Path(conf, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        # Spark does without it as well.
        return found
    for line in lines:
        parts = re.split(r"\s*[=:\s]\s*", line.strip(), maxsplit=1)
        if len(parts) == 2 and not line.lstrip().startswith(("#", "!")):
            found[parts[0]] = parts[1].strip()
    return found


def _submit_arguments() -> dict[str, str]:
    try:
        arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    except ValueError as e:
        raise SluiceError(f"PYSPARK_SUBMIT_ARGS cannot be read: {e}") from e
    names = {
        "--jars": "spark.jars",
        "--packages": "spark.jars.packages",
        "--driver-class-path": "spark.driver.extraClassPath",
    }
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if option not in names and option not in ("--conf", "-c"):
            continue
        value = value if equals else next(rest, "")
        if option in names:
            found[names[option]] = value
        else:
            key, _, value = value.partition("=")
            found[key] = value
    return found


def running_jvm() -> Any:
    """Spark's JVM if it runs already, because of an earlier session or because spark-submit started it; else None."""
    from pyspark import SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    return SparkContext._jvm


def settings_of_jvm(jvm: Any) -> dict[str, str]:
    """The settings that the JVM was started with."""
    from pyspark import SparkConf

    return dict(SparkConf(_jvm=jvm).getAll())


def active_context() -> Any:
    """The `SparkContext` that runs; None if none does."""
    try:
        from pyspark import SparkContext
    except ImportError as e:
        raise SluiceError(
            "this PySpark is the client of Spark Connect alone (pyspark-client), which has no Spark to configure: a "
            "server's settings choose the shuffle. Start the server with what 'python -m sluice_spark conf' prints"
        ) from e
    return SparkContext._active_spark_context
