"""The folders that a call works in, and the environment of the programs that it runs."""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

from processes import Failure

HERE = Path(__file__).resolve().parent
# Of HiBench's settings, many can also come from variables of their names; so nothing else of the caller's is handed on.
KEPT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "USER", "JAVA_HOME", "TERM", "PYENV_ROOT", "PYENV_VERSION")


class Place:
    """base: where all calls keep what they share (copies, builds, data); run: this call's own folder, which close()
    removes.

    One call at a time has a base: a second one fails.
    """

    def __init__(self, base):
        self.base = Path(base)
        if any(character.isspace() for character in str(self.base)):
            raise Failure(f"HiBench's scripts cannot work in a folder with spaces in its path: {self.base}")
        self.base.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.base / ".lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.close()
            raise Failure(f"another ./sluice hibench works in {self.base}; wait until it has ended") from None
        # A call that was killed has left its folder.
        for old in self.base.glob("run-*"):
            shutil.rmtree(old, ignore_errors=True)
        self.run = self.base / f"run-{os.getpid()}"
        self.run.mkdir()

    def close(self):
        shutil.rmtree(self.run, ignore_errors=True)
        self.lock.close()

    def folder(self, *names):
        """A folder below the call's own, made if it is not there."""
        path = self.run.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def fresh(self, *names):
        """The same, empty."""
        shutil.rmtree(self.run.joinpath(*names), ignore_errors=True)
        return self.folder(*names)

    def spark_home(self, jars):
        """A SPARK_HOME of this call with `jars`, whose bin/spark-submit measures."""
        home = self.folder("spark")
        (home / "bin").mkdir(exist_ok=True)
        for link, target in ((home / "jars", jars), (home / "bin" / "spark-submit", HERE / "bin" / "spark-submit")):
            with contextlib.suppress(FileNotFoundError):
                link.unlink()
            link.symlink_to(target)
        return home

    def environment(self, jars, tools):
        """Variables for HiBench's scripts and for spark-submit."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "PATH": f"{HERE / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
                "SPARK_HOME": str(self.spark_home(jars)), "SPARK_SCALA_VERSION": scala_version(jars),
                # All of it is on this machine.
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SLUICE_HIBENCH_SPARK": str(Path(jars).parent), "SLUICE_HIBENCH_TOOLS": str(tools),
                "SLUICE_HIBENCH_TMP": str(self.folder("tmp")), "SLUICE_HIBENCH_TIMES": str(self.run / "times.json"),
                "TMPDIR": str(self.folder("tmp"))}


def scala_version(jars):
    """Of a folder with Spark's jars: 2.12 or 2.13."""
    found = sorted(Path(jars).glob("spark-core_*.jar"))
    if len(found) != 1:
        raise Failure(f"{jars} has {len(found)} spark-core jars where one is expected")
    return found[0].name.split("_")[1].split("-")[0]


def spark_version(jars):
    return sorted(Path(jars).glob("spark-core_*.jar"))[0].stem.split("-")[-1]


def check_space(what, needed_bytes, folder, free_bytes=None):
    """Raises Failure if `needed_bytes` do not fit to where `folder` is."""
    if free_bytes is None:
        free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise Failure(f"{what} need about {needed_bytes >> 20:,} MiB, and {folder} has {free_bytes >> 20:,} MiB")


