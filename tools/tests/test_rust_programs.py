"""Where the tests of a crate are one program (tests/main.rs), each file is a part of it or a program of its own."""

import pathlib
import re
import unittest

CRATES = pathlib.Path(__file__).resolve().parents[2] / "native/crates"


def forgotten(crate):
    """The files of tests that Cargo runs nowhere."""
    manifest = (crate / "Cargo.toml").read_text()
    named = set(re.findall(r'path = "tests/(\w+\.rs)"', manifest))
    named |= set(re.findall(r'path = "(\w+\.rs)"', (crate / "tests/main.rs").read_text()))
    return sorted({file.name for file in (crate / "tests").glob("*.rs")} - named)


class RustProgramsTest(unittest.TestCase):
    def test_no_file_of_tests_is_forgotten(self):
        manifests = sorted(CRATES.glob("*/Cargo.toml"))
        crates = [file.parent for file in manifests if "autotests = false" in file.read_text()]
        self.assertTrue(crates)
        for crate in crates:
            self.assertEqual([], forgotten(crate), crate.name)


if __name__ == "__main__":
    unittest.main()
