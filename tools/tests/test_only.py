"""Which steps ./sluice test --only runs."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class OnlyTest(unittest.TestCase):
    def run_steps(self, only, body):
        """What the steps of body printed, and what came of them."""
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder) / "logs"
            logs.mkdir()
            functions = Path(folder) / "functions"
            script = (ROOT / "sluice").read_text().splitlines()
            # All but the last line, which calls main.
            text = "\n".join(script[:-1]).replace("$(dirname -- \"${BASH_SOURCE[0]}\")", str(ROOT))
            functions.write_text(text)
            script = f"source {functions}; logs={logs}; only_steps=({only}); {body}; test_summary 1 4.2.0"
            done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, timeout=60)
            ran = sorted(log.stem for log in logs.glob("*.log"))
            return ran, done.returncode, done.stderr + done.stdout

    STEPS = ("check test-a true; check test-ab false; begin test-c true; check test-d true; finish test-c; "
             "skip test-e 'no e'")

    def test_all_without_patterns(self):
        ran, code, text = self.run_steps("", self.STEPS)
        self.assertEqual((["test-a", "test-ab", "test-c", "test-d"], 1), (ran, code), text)
        self.assertIn("test-e", text)

    def test_names_and_patterns(self):
        ran, code, text = self.run_steps("test-a 'test-[cd]'", self.STEPS)
        self.assertEqual((["test-a", "test-c", "test-d"], 0), (ran, code), text)
        self.assertNotIn("test-e", text)

    def test_a_failing_step_fails_the_run(self):
        ran, code, text = self.run_steps("'test-a*'", self.STEPS)
        self.assertEqual((["test-a", "test-ab"], 1), (ran, code), text)
        self.assertIn("FAILED: test-ab", text)

    def test_steps_beside_others_are_found_too(self):
        ran, code, text = self.run_steps("test-c", self.STEPS)
        self.assertEqual((["test-c"], 0), (ran, code), text)

    def test_a_name_that_no_step_has_is_an_error(self):
        ran, code, text = self.run_steps("test-d test-x", self.STEPS)
        self.assertEqual((["test-d"], 1), (ran, code), text)
        self.assertIn("no step is called test-x", text)

    def test_no_name_at_all_is_an_error(self):
        done = subprocess.run([ROOT / "sluice", "test", "--only", ""], capture_output=True, text=True, timeout=60)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("--only names no step", done.stderr)


if __name__ == "__main__":
    unittest.main()
