"""What kind of folder the user has given, and a copy of it to build and run in, so that nothing is written into it."""

import hashlib
import os
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import Failure

HIBENCH, TERASORT, SPARK = "HiBench", "spark-terasort", "Spark"
# What a kind's checkout has, besides its artifact's name in pom.xml.
SIGNS = {HIBENCH: ("bin/functions/load_config.py", "conf/hibench.conf", "sparkbench/pom.xml", "autogen/pom.xml"),
         TERASORT: ("src/main/scala/com/github/ehiggs/spark/terasort/TeraSort.scala",)}
ARTIFACTS = {"hibench": HIBENCH, "spark-terasort": TERASORT}
# Histories, and what builds and runs have left there.
LEFT_OUT = {".git", "target", "report", "__pycache__", "metastore_db"}
GIT_SECONDS = 20


@dataclass(frozen=True)
class Checkout:
    """kind: HIBENCH, TERASORT or SPARK; commit: of git, with + if files were changed, or None."""
    kind: str
    folder: Path
    commit: str = None

    def digest(self):
        """Of the names and bytes of all files that copy() takes."""
        digest = hashlib.sha256()
        for path in files(self.folder):
            digest.update(f"{path.relative_to(self.folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]

    def copy(self, target):
        """Copies the sources to `target`, complete or not at all, with the right to run scripts."""
        new = target.with_name(target.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        for path in files(self.folder):
            place = new / path.relative_to(self.folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            if path.suffix in (".sh", ".py"):
                place.chmod(place.stat().st_mode | stat.S_IXUSR)
        new.rename(target)


def files(folder):
    """All files that belong to a checkout, in the order of their names."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        found += [Path(parent, name) for name in sorted(names) if not Path(parent, name).is_symlink()]
    return found


def recognise(folder):
    """The checkout in `folder`. Raises Failure that says what is not there."""
    folder = Path(folder).resolve()
    if not folder.is_dir():
        raise Failure(f"{folder} is not a folder")
    if list(folder.glob("jars/spark-core_*.jar")):
        if not list(folder.glob("examples/jars/spark-examples_*.jar")):
            raise Failure(f"{folder} has Spark's jars, but no examples/jars/spark-examples_*.jar: that is in Spark's "
                          "distribution")
        return Checkout(SPARK, folder)
    artifact = artifact_of(folder / "pom.xml")
    if artifact not in ARTIFACTS:
        found = f"its pom.xml is of '{artifact}'" if artifact else "it has no pom.xml with an artifact's name"
        raise Failure(f"{folder} is no checkout of HiBench or of spark-terasort, and no unpacked Spark distribution: "
                      f"{found}")
    kind = ARTIFACTS[artifact]
    missing = [sign for sign in SIGNS[kind] if not (folder / sign).is_file()]
    if missing:
        raise Failure(f"{folder} is a checkout of {kind} without {', '.join(missing)}: is it complete?")
    return Checkout(kind, folder, commit_of(folder))


def artifact_of(pom):
    """The artifact's name that a POM says first outside <parent>, or None."""
    try:
        text = pom.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    text = re.sub(r"<!--.*?-->|<parent>.*?</parent>", "", text, flags=re.DOTALL)
    found = re.search(r"<artifactId>\s*(.*?)\s*</artifactId>", text)
    return found[1] if found else None


def commit_of(folder):
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=12", "--dirty=+", "--match", "no tag"]
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=GIT_SECONDS,
                              check=False, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return said.stdout.decode().strip() or None
