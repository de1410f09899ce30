"""Every test that SECURITY.md names is there."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def named_tests():
    """What stands in backquotes in the last column of the table, row by row."""
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] not in ("who", "---"):
            yield cells[0], re.findall(r"`([^`]+)`", cells[3])


def exists(name):
    if (ROOT / "tools" / name).is_file():
        return True
    if name.endswith("Test"):
        return any(ROOT.glob(f"jvm/**/src/test/**/{name}.java"))
    found = subprocess.run(["grep", "-rqE", "--include=*.rs", rf"fn {name}\(", str(ROOT / "native" / "crates")])
    return found.returncode == 0


class SecurityPageTest(unittest.TestCase):
    def test_every_row_names_tests_that_exist(self):
        rows = list(named_tests())
        self.assertGreater(len(rows), 10)
        for who, names in rows:
            self.assertTrue(names, f"no test for: {who}")
            for name in names:
                self.assertTrue(exists(name), f"{name} is not there")

    def test_a_test_that_is_not_there_is_noticed(self):
        for name in ("NoSuchTest", "no_such_function", "no-such-tool"):
            self.assertFalse(exists(name))


if __name__ == "__main__":
    unittest.main()
