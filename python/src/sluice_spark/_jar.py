"""The jar in this package, and other Sluice jars that an application would have besides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable

from sluice_spark._errors import SluiceError
from sluice_spark._version import __version__

# sluice-0.1.0.jar, not sluice-bench.jar.
_NAME = re.compile(r"sluice-(\d[^/]*)\.jar")
_COORDINATE = re.compile(r"io\.sluice:sluice:([^:]+)")


def jar_path() -> str:
    """The path of the jar that came with this package.

    Raises `SluiceError` where the package has none, as in a checkout.
    """
    jar = Path(__file__).resolve().with_name("jar") / f"sluice-{__version__}.jar"
    if not jar.is_file():
        raise SluiceError(
            f"there is no {jar}. This is not an installed wheel: build one with './sluice wheel' and install it with "
            "'pip install build/wheel/dist/sluice_spark-*.whl'"
        )
    return str(jar)


def is_there_already(places: Iterable[str]) -> bool:
    """Whether one of the paths, URLs or Maven coordinates is a Sluice jar of this version.

    Raises `SluiceError` when one is of another version: of two, the class path's order decides, on each machine anew.
    """
    found = False
    for place in places:
        version = _version_of(place)
        if version is None:
            continue
        if version != __version__:
            raise SluiceError(
                f"Sluice would be on the class path twice, in two versions: {__version__} comes with sluice-spark, and "
                f"{version} is there as {place}. Remove that, or install sluice-spark=={version}"
            )
        found = True
    return found


def _version_of(place: str) -> str | None:
    match = _COORDINATE.fullmatch(place) or _NAME.fullmatch(place.rsplit("/", 1)[-1])
    return match.group(1) if match else None
