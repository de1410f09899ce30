"""The commands of the deployment guides, so that tests run them as they are printed."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GUIDES = ROOT / "docs" / "deployment"
sys.path.insert(0, str(ROOT / "tools" / "lib"))

from pages import commands, path_with, run  # noqa: E402

__all__ = ["GUIDES", "commands", "path_with", "run"]
