"""The lock under which ./sluice builds (tools/lib/lock.sh)."""

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "lib" / "lock.sh"
LIMIT_SECONDS = 20

# What ./sluice has before it reads lock.sh. `critical NAME` writes that it begins and that it ends.
SCRIPT = """
set -euo pipefail
shopt -s inherit_errexit
root={folder} build={folder}/build
note() {{ printf '%s\\n' "$*" >&2; }}
die() {{ note "error: $*"; exit 1; }}
source {lock}
critical() {{ echo "begin $1" >>{folder}/log; sleep 0.2; echo "end $1" >>{folder}/log; }}
"""


class BuildLockTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, body, **options):
        script = SCRIPT.format(folder=self.folder, lock=LOCK) + body
        process = subprocess.Popen(["/bin/bash", "-c", script], stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, LIMIT_SECONDS)
        return process

    def ended(self, process):
        error = process.communicate(timeout=LIMIT_SECONDS)[1]
        return process.returncode, error

    def wait_for(self, text):
        log, end = self.folder / "log", time.monotonic() + LIMIT_SECONDS
        while not (log.exists() and text in log.read_text()):
            self.assertLess(time.monotonic(), end, f"no '{text}' in the log")
            time.sleep(0.01)

    def test_builds_take_turns(self):
        builds = [self.start(f"with_build_lock critical {i}") for i in range(4)]
        self.assertEqual([self.ended(build)[0] for build in builds], [0] * 4)
        lines = (self.folder / "log").read_text().split("\n")[:-1]
        self.assertEqual(len(lines), 8)
        for begin, end in zip(lines[::2], lines[1::2]):
            self.assertEqual(end, begin.replace("begin", "end"))

    def test_who_waits_says_for_what(self):
        first = self.start("held() { critical first; until [[ -e $root/said ]]; do sleep 0.01; done; }; "
                           "with_build_lock held")
        self.wait_for("begin first")
        second = self.start("with_build_lock critical second")
        self.assertEqual(
            second.stderr.readline(),
            f"Waiting until another ./sluice (process {first.pid}) has built in {self.folder}\n"
        )
        (self.folder / "said").touch()
        self.assertEqual(self.ended(second), (0, ""))
        self.assertEqual(self.ended(first), (0, ""))

    def test_the_wait_ends(self):
        first = self.start("with_build_lock sleep 60; :", start_new_session=True)
        self.addCleanup(os.killpg, first.pid, signal.SIGKILL)
        end = time.monotonic() + LIMIT_SECONDS
        while not (self.folder / "build/.lock").exists() or not (self.folder / "build/.lock").read_text():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        code, error = self.ended(self.start("build_lock_seconds=1; with_build_lock critical second"))
        self.assertEqual(code, 1)
        self.assertIn(f"for process {first.pid}, which holds {self.folder}/build/.lock", error)
        self.assertFalse((self.folder / "log").exists(), "it built without the lock")

    def test_what_a_build_leaves_running_keeps_no_lock(self):
        first = self.start("left() { sleep 60 & echo $! >>$root/log; }; with_build_lock left 2>/dev/null")
        self.wait_for("\n")
        self.addCleanup(os.kill, int((self.folder / "log").read_text()), signal.SIGKILL)
        self.assertEqual(first.wait(LIMIT_SECONDS), 0)
        self.assertEqual(self.ended(self.start("with_build_lock critical second")), (0, ""))

    def test_a_build_that_fails_frees_the_lock_and_says_so(self):
        self.assertEqual(self.ended(self.start("with_build_lock false; echo not reached >>$root/log"))[0], 1)
        self.assertEqual(self.ended(self.start("with_build_lock critical second")), (0, ""))
        self.assertEqual((self.folder / "log").read_text(), "begin second\nend second\n")

    def test_without_flock_says_where_it_comes_from(self):
        code, error = self.ended(self.start("PATH=/nowhere; with_build_lock critical first"))
        self.assertEqual(code, 1)
        self.assertIn("no flock found", error)
        self.assertIn("util-linux", error)


if __name__ == "__main__":
    unittest.main()
