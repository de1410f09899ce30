"""The commands of the deployment guides, so that tests run them as they are printed."""

import os
import subprocess
from pathlib import Path

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "deployment"


def commands(page, test):
    """The blocks of a guide's commands that its comments say this test runs, in their order."""
    lines = (GUIDES / page).read_text(encoding="utf-8").split("\n")
    blocks = []
    for number, line in enumerate(lines):
        if line.strip() == f"<!-- tested by {test} -->" and lines[number + 1].startswith("```sh"):
            end = lines.index("```", number + 2)
            blocks.append("\n".join(lines[number + 2:end]))
    if not blocks:
        raise AssertionError(f"{page} has no commands that are tested by {test}")
    return blocks


def run(block, folder, variables, limit_seconds):
    """Runs a block as a user would paste it, with the guide's variables set; its output, or an error with it."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=variables, timeout=limit_seconds, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"these commands ended with {done.returncode}:\n{block}\n{done.stdout[-8000:]}")
    return done.stdout


def path_with(*folders):
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])
