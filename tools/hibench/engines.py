"""The ways to shuffle, by the names that ./sluice bench gives them, as Spark settings."""

import platform
import zipfile

from processes import Failure

SLUICE = {"spark.plugins": "io.sluice.spark.SluicePlugin",
          "spark.shuffle.manager": "io.sluice.spark.SluiceShuffleManager"}
STOCK = "stock"
# Sluice's default mode is MULTITHREADED: blocks travel by Spark's block transfer, over TCP by Netty.
SETTINGS = {
    STOCK: {},
    "sluice": SLUICE,
    "sluice-ucx": {**SLUICE, "spark.sluice.mode": "UCX"},
    "sluice-rdma": {**SLUICE, "spark.sluice.mode": "RDMA"},
    "sluice-cache": {**SLUICE, "spark.sluice.mode": "CACHE_ONLY"},
}
ONE_SIDED = ("sluice-ucx", "sluice-rdma")
DEFAULT = (STOCK, "sluice", "sluice-ucx")


def chosen(text):
    """The engines of a list with commas.

    Raises Failure for one that is not known or is named twice, and if stock is not first.
    """
    names = list(DEFAULT) if text is None else text.split(",")
    unknown = [name for name in names if name not in SETTINGS]
    if unknown:
        raise Failure(f"unknown engine '{unknown[0]}'; known are {', '.join(SETTINGS)}")
    if len(set(names)) != len(names):
        raise Failure("an engine is named twice")
    if names[0] != STOCK:
        raise Failure(f"the first engine must be {STOCK}: the others are compared with it")
    return names


def with_library(names, jar, explicit):
    """Those of `names` that can run here: one-sided reads need UCX, which `jar` has for some kinds of machine.

    Returns the names and a note on those that were left out, or None. Raises Failure if the user has named such a one.
    """
    entry = f"io/sluice/native/linux-{platform.machine()}/ucx/libucp.so.0"
    with zipfile.ZipFile(jar) as archive:
        if entry in archive.namelist():
            return names, None
    without = [name for name in names if name in ONE_SIDED]
    if without and explicit:
        raise Failure(f"{', '.join(without)} need UCX, and {jar} has none for this machine ({entry})")
    left = [name for name in names if name not in ONE_SIDED]
    return left, f"without {', '.join(without)}: {jar} has no UCX for this machine" if without else None


def settings(engine, jar, user):
    """Spark settings of the engine, with the jar where it is needed, and the user's, which win."""
    own = dict(SETTINGS[engine])
    if own:
        own.update({"spark.driver.extraClassPath": str(jar), "spark.executor.extraClassPath": str(jar)})
    return {**own, **user}
