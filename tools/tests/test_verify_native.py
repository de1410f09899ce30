"""tools/verify-native places: what it says of a planted fault whose place in the sources has moved."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = r"matches!\(region\.state, State::Plain\) => region"


def places(changed):
    """Code and words of the tool, in a folder of its own with the same sources; its text is changed before."""
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "tools/verify-native"
        tool.parent.mkdir()
        text = (ROOT / "tools/verify-native").read_text()
        tool.write_text(changed(text))
        (Path(folder) / "native").symlink_to(ROOT / "native")
        run = subprocess.run(["bash", tool, "places"], capture_output=True, text=True, timeout=120)
        return run.returncode, run.stdout, run.stderr


class VerifyNativeTest(unittest.TestCase):
    def test_all_places_are_there(self):
        code, out, err = places(lambda text: text)
        self.assertEqual((0, ""), (code, err))
        self.assertRegex(out, r"^\d\d places of planted faults, of which 0 have changed\n$")

    def test_a_place_that_has_moved_is_named_and_the_others_are_looked_at(self):
        self.assertIn(PLACE, (ROOT / "tools/verify-native").read_text())
        code, out, err = places(lambda text: text.replace(PLACE, "was_there_once"))
        self.assertEqual(1, code)
        self.assertIn("pinned-pages-purged: its place in native/crates/gpu-mem/src/pinned_provider.rs has changed", err)
        self.assertEqual(1, len(err.splitlines()))
        self.assertRegex(out, r"of which 1 have changed\n$")


if __name__ == "__main__":
    unittest.main()
