"""A builder of sessions gets Sluice's settings, beside what it has."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any, Mapping, TypeVar

from sluice_spark import _machine, _spark
from sluice_spark._errors import SluiceError
from sluice_spark._jar import is_there_already, jar_path

PLUGIN = "io.sluice.spark.SluicePlugin"
MANAGER = "io.sluice.spark.SluiceShuffleManager"

_MANAGER_KEY = "spark.shuffle.manager"
# What separates the parts of a setting that is a list.
_SEPARATORS = {
    "spark.plugins": ",",
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.driver.extraClassPath": ":",
    "spark.executor.extraClassPath": ":",
}
# Names of Spark's own sort shuffle, which Sluice replaces.
_STOCK_MANAGERS = ("", "sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager", MANAGER)

Builder = TypeVar("Builder")


def settings(existing: Mapping[str, str] | None = None, *, check_platform: bool = True) -> dict[str, str]:
    """The settings that make an application use Sluice, for the PySpark that is installed.

    existing: settings that the application has. Lists among them (`spark.plugins`, `spark.jars`, class paths) are kept,
    and Sluice's part is added to them. None or empty for none.

    Raises `SluiceError`, with what to do, on a platform that Sluice is not made for, without PySpark, with an
    unsupported version of it, when `existing` names another shuffle manager, and when it has a Sluice jar of another
    version.
    """
    return _added(dict(existing or {}), _spark.version(), check_platform, jvm=None)


def configure(builder: Builder, *, check_platform: bool = True) -> Builder:
    """Gives a `SparkSession.builder` the settings and the class path of Sluice, and returns it.

    The builder's own plugins, jars and class paths stay, and so do those of spark-defaults.conf and
    PYSPARK_SUBMIT_ARGS, which a builder's settings would otherwise replace. Call it last, before `getOrCreate()`. If a
    session on Sluice runs already, as when a notebook's cell is run again, nothing is changed.

    On Spark 4 the jar goes to the executors with `spark.jars`. Spark 3 creates the shuffle manager before it has these
    jars, so there the jar goes on the class paths by its path, and sluice-spark must be installed at the same path on
    every machine.

    Raises `SluiceError`, with what to do: see `settings`, and besides without a Java, for a builder of a Spark Connect
    client, beside a running session on another shuffle, and where Spark's JVM runs already without Sluice's jar.
    """
    version = _spark.version()
    own = {key: str(value) for key, value in getattr(builder, "_options", {}).items()}
    _check_is_no_client(own, version)
    context = _spark.active_context()
    if context is not None:
        _check_uses_sluice(context)
        return builder
    jvm = _spark.running_jvm()
    if jvm is None:
        _machine.java()
        elsewhere = _spark.settings_elsewhere()
    else:
        elsewhere = _spark.settings_of_jvm(jvm)
    for key, value in _added({**elsewhere, **own}, version, check_platform, jvm).items():
        builder.config(key, value)  # type: ignore[attr-defined]
    return builder


def _check_is_no_client(options: Mapping[str, str], version: tuple[int, int]) -> None:
    remote = options.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")
    if remote.startswith("sc://"):
        raise SluiceError(
            f"the client of a Spark Connect server ({remote}) cannot choose the shuffle: the server's settings do. "
            "Start the server with what 'python -m sluice_spark conf' prints"
        )
    mode = _connect_mode(options) if version >= (4, 0) else ""
    why = f"a remote session of this machine ({remote})" if remote else mode
    if why:
        raise SluiceError(
            f"{why} makes PySpark start a Spark Connect server of its own, whose spark.plugins it sets without "
            "Sluice's. Start a server with what 'python -m sluice_spark conf' prints, and connect to it"
        )


def _connect_mode(options: Mapping[str, str]) -> str:
    """What makes PySpark 4 start a Connect server for a session without an address; empty if nothing does."""
    mode = (options.get("spark.api.mode") or os.environ.get("SPARK_API_MODE", "")).lower()
    if mode in ("classic", "connect"):
        return "spark.api.mode=connect" if mode == "connect" else ""
    if "SPARK_CONNECT_MODE" in os.environ:
        return "SPARK_CONNECT_MODE=1" if os.environ["SPARK_CONNECT_MODE"] == "1" else ""
    return "the package pyspark-connect" if importlib.util.find_spec("pyspark_connect") else ""


def _check_uses_sluice(context: Any) -> None:
    manager = context.getConf().get(_MANAGER_KEY, "sort")
    if manager != MANAGER:
        raise SluiceError(
            f"a Spark session runs already, on the shuffle manager '{manager}', and a running one cannot change that. "
            "Stop it (spark.stop()), or call configure before the first session"
        )


def _added(existing: dict[str, str], version: tuple[int, int], check_platform: bool, jvm: Any) -> dict[str, str]:
    """The settings to add to the existing ones."""
    if check_platform:
        _machine.check_platform()
    manager = existing.get(_MANAGER_KEY, "")
    if manager not in _STOCK_MANAGERS:
        raise SluiceError(
            f"spark.shuffle.manager is {manager}, which Sluice would replace. Remove that setting to use Sluice"
        )
    added = {_MANAGER_KEY: MANAGER, "spark.plugins": _with("spark.plugins", existing, PLUGIN)}
    added.update(_class_path(existing, version, jvm))
    return added


def _class_path(existing: dict[str, str], version: tuple[int, int], jvm: Any) -> dict[str, str]:
    """The settings that bring the jar to driver and executors, without those that have it already."""
    installed = is_there_already(_jars_of_spark())
    there = {key: is_there_already(_parts(key, existing)) for key in _SEPARATORS}
    if jvm is not None and not _has_sluice(jvm):
        raise SluiceError(
            "Spark's JVM runs already, because of an earlier session or because spark-submit or pyspark started it, "
            "and Sluice's jar is not on its class path. Call configure before the first session of the process, or "
            "give spark-submit the arguments that 'python -m sluice_spark conf' prints"
        )
    if installed:
        return {}
    if version >= (4, 0):
        on_class_paths = there["spark.driver.extraClassPath"] and there["spark.executor.extraClassPath"]
        if there["spark.jars"] or there["spark.jars.packages"] or on_class_paths:
            return {}
        keys = ["spark.jars"]
    else:
        keys = [key for key in ("spark.driver.extraClassPath", "spark.executor.extraClassPath") if not there[key]]
        if jvm is not None and "spark.driver.extraClassPath" in keys:
            keys.remove("spark.driver.extraClassPath")
    return {key: _with(key, existing, jar_path()) for key in keys}


def _jars_of_spark() -> list[str]:
    home = _spark.home()
    return [str(jar) for jar in Path(home, "jars").glob("sluice-*.jar")] if home else []


def _parts(key: str, existing: Mapping[str, str]) -> list[str]:
    return [part.strip() for part in existing.get(key, "").split(_SEPARATORS[key]) if part.strip()]


def _with(key: str, existing: Mapping[str, str], part: str) -> str:
    """The list of that setting with the part at its end, if it has it not."""
    parts = _parts(key, existing)
    return _SEPARATORS[key].join(parts if part in parts else [*parts, part])


def _has_sluice(jvm: Any) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(PLUGIN)
    except Py4JJavaError:
        return False
    return True
