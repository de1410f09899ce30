"""What the machine has that a Spark driver with Sluice needs."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from sluice_spark._errors import SluiceError

_MACHINES = ("x86_64", "aarch64")


def check_platform() -> None:
    """Raises `SluiceError` on a platform that Sluice is not made for."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux" or machine not in _MACHINES:
        raise SluiceError(
            f"Sluice is made for Linux on {' and '.join(_MACHINES)}, and this is {system} on {machine}. If only the "
            "driver runs here and the executors run on such a Linux, call configure(builder, check_platform=False)"
        )


def java() -> str:
    """The program that starts Java, where Spark's own scripts look for it; raises `SluiceError` if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home, "bin", "java")
        if not os.access(program, os.X_OK):
            raise SluiceError(
                f"PySpark starts a Java, and JAVA_HOME = {home} has no program bin/java. Set JAVA_HOME to the home of "
                "a Java, or unset it to use the java on PATH"
            )
        return str(program)
    found = shutil.which("java")
    if found is None:
        raise SluiceError(
            "PySpark starts a Java, and there is none: JAVA_HOME is not set and no java is on PATH. Install one (Java "
            "17 or later for Spark 4; 8, 11 or 17 for Spark 3), for example: apt-get install openjdk-17-jre-headless"
        )
    return found
