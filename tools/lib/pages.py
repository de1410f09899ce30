"""The blocks of code of the documentation's pages, so that tests run them as they are printed."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(page, test, language):
    """The blocks of a page in this language that their comments say this test runs, in their order.

    PAGE is a path from the root of the repository. Comments are those that tools/site checks.
    """
    lines = (ROOT / page).read_text(encoding="utf-8").split("\n")
    found = []
    for number, line in enumerate(lines):
        tested = re.fullmatch(r"\s*<!-- tested by (.*) -->", line)
        if tested and test in re.split(r",\s*", tested[1]) and lines[number + 1].strip() == f"```{language}":
            end = next(n for n in range(number + 2, len(lines)) if lines[n].strip() == "```")
            found.append("\n".join(lines[number + 2:end]))
    if not found:
        raise AssertionError(f"{page} has no block of {language} that is tested by {test}")
    return found


def commands(page, test):
    """The blocks of a page's commands."""
    return blocks(page, test, "sh")


def run(block, folder, variables, limit_seconds):
    """Runs a block as a user would paste it, with these variables set; its output, or an error with it."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=variables, timeout=limit_seconds, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"these commands ended with {done.returncode}:\n{block}\n{done.stdout[-8000:]}")
    return done.stdout


def path_with(*folders):
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])
