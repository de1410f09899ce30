"""What steps of ./sluice show on a terminal while they run (tools/lib/progress.sh)."""

import os
import pty
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 30


class ProgressTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = Path(folder.name) / "logs"
        script = (ROOT / "sluice").read_text().splitlines()
        self.functions = Path(folder.name) / "functions"
        # All but the last line, which calls main.
        self.functions.write_text("\n".join(script[:-1]).replace("$(dirname -- \"${BASH_SOURCE[0]}\")", str(ROOT)))

    def script(self, body):
        return ["/bin/bash", "-c", f"source {self.functions}; logs={self.logs}; {body}"]

    def on_terminal(self, body, quiet_seconds="0"):
        """The output on a pseudo-terminal, and the exit code."""
        master, slave = pty.openpty()
        environment = dict(os.environ, SLUICE_PROGRESS_QUIET_SECONDS=quiet_seconds)
        with subprocess.Popen(self.script(body), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                              env=environment) as process:
            os.close(slave)
            shown = b""
            while True:
                try:
                    part = os.read(master, 4096)
                except OSError:
                    part = b""
                if not part:
                    break
                shown += part
            os.close(master)
            code = process.wait(LIMIT_SECONDS)
        return shown.decode(), code

    def test_a_step_shows_seconds_and_the_next_time_a_bar(self):
        # Long enough for some frames, whichever seconds these show on a machine that is busy.
        shown, code = self.on_terminal("step something sleep 4")
        self.assertEqual(0, code, shown)
        self.assertRegex(shown, r" [1-9]\d* s\033\[K")
        self.assertNotIn("[", shown.replace("\033[K", ""))
        shown, code = self.on_terminal("step something sleep 4")
        self.assertEqual(0, code, shown)
        self.assertRegex(shown, r"\[=*> *\] \d+ s of about \d+ s\033\[K")
        self.assertRegex(shown, r"ok, \d+ s\r?\n$")

    def test_a_short_step_shows_no_bar(self):
        shown, _ = self.on_terminal("step something true", quiet_seconds="3")
        self.assertRegex(shown, r"^  something +\r  something +\033\[Kok, \d+ s\r?\n$")

    def test_a_failed_step_is_not_remembered(self):
        shown, code = self.on_terminal("step something false || exit 7")
        self.assertEqual(7, code)
        self.assertIn("FAILED after", shown)
        self.assertFalse((self.logs / "something.seconds").exists())

    def test_without_a_terminal_a_step_is_one_plain_line(self):
        done = subprocess.run(self.script("step something sleep 1"), capture_output=True, text=True,
                              timeout=LIMIT_SECONDS, check=True)
        self.assertRegex(done.stderr, r"^  something {20,}ok, \d+ s\n$")

    def test_a_bar_never_claims_to_be_full(self):
        done = subprocess.run(self.script("progress_text 500 40"), capture_output=True, text=True,
                              timeout=LIMIT_SECONDS, check=True)
        self.assertRegex(done.stdout, r"^\[=+>\] 500 s of about 40 s$")


if __name__ == "__main__":
    unittest.main()
