"""How ./sluice report tells event logs from results of bench."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ReportInputsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        script = (ROOT / "sluice").read_text().splitlines()
        # All but the last line, which calls main.
        (self.folder / "functions").write_text(
            "\n".join(script[:-1]).replace("$(dirname -- \"${BASH_SOURCE[0]}\")", str(ROOT)))

    def is_event_log(self, path):
        return subprocess.run(["/bin/bash", "-c", 'source "$0"; is_event_log "$1"', str(self.folder / "functions"),
                               str(path)], timeout=30, check=False).returncode == 0

    def test_what_a_file_begins_with_decides_and_not_its_name(self):
        log = self.folder / "application.json"
        log.write_text('{"Event":"SparkListenerLogStart"}\n')
        compressed = self.folder / "application.zstd"
        compressed.write_bytes(b"\x28\xb5\x2f\xfd\x00")
        results = self.folder / "results"
        results.write_text('[\n  {"workload": "sort"}\n]\n')
        self.assertTrue(self.is_event_log(log))
        self.assertTrue(self.is_event_log(compressed))
        self.assertTrue(self.is_event_log(self.folder))
        self.assertFalse(self.is_event_log(results))
        self.assertFalse(self.is_event_log(self.folder / "no-file"))


if __name__ == "__main__":
    unittest.main()
