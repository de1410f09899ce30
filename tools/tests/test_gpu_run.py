"""tools/gpu-run, with programs that only say that they ran: order, failures, a hang, what is skipped."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "gpu-run"
TESTS = ["sluice_cuda", "simulated", "sluice_cuda_sim", "sluice_gpu_mem", "gpu_memory", "sluice_gpu_engine",
         "gpu_engine", "sluice-gpu"]
LOST = "test lost::by_a_call ... FAILED"


class GpuRunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pack, self.bin, self.results = (self.folder / name for name in ("pack", "bin", "results"))
        for made in (self.pack, self.bin, self.pack / "kernels"):
            made.mkdir()
        self.program(self.pack / "sluice-gpu", 'if [[ $1 == device ]]; then echo "No GPU (none)."; fi')
        for test in TESTS:
            self.program(self.pack / f"test-{test}", "")
        # As a machine with enough cores, on which each limit is five seconds.
        self.program(self.bin / "nproc", "echo 16", logged=False)
        self.program(self.bin / "timeout", f'exec {shutil.which("timeout")} "$1" 5 "${{@:3}}"', logged=False)

    def program(self, path, body, logged=True):
        """A program that notes its name, first argument and whether it is to use a GPU, and does what it is told."""
        log = f'echo "${{0##*/}} ${{1:-}} ${{SLUICE_TEST_GPU:-}}" >>{self.folder}/order\n' if logged else ""
        path.write_text(f"#!/usr/bin/env bash\n{log}{body}\n")
        path.chmod(0o755)

    def gpu(self):
        self.program(self.pack / "sluice-gpu", 'if [[ $1 == device ]]; then echo "CUDA 13.0: NVIDIA H100"; fi')

    def run_all(self):
        # The toolkit of the machine that the test runs on is not asked.
        environment = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", CUDA_HOME=str(self.folder / "none"))
        for name in ("SLUICE_TEST_GPU", "SLUICE_GPU_KERNELS"):
            environment.pop(name, None)
        run = subprocess.run([TOOL, self.pack, self.results], capture_output=True, text=True, timeout=120,
                             env=environment)
        order = self.folder / "order"
        lines = [line.split() for line in order.read_text().splitlines()] if order.exists() else []
        return run, lines

    def test_without_a_gpu_all_runs_on_the_simulated_driver(self):
        run, order = self.run_all()
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertEqual([["sluice-gpu", "device"], *[[f"test-{test}"] for test in TESTS], ["sluice-gpu", "streams"],
                          ["sluice-gpu", "figures"]], order)
        self.assertIn("skipped: no GPU", run.stdout)
        self.assertRegex(run.stdout, r"engine +skipped: no kernels")
        self.assertIn("all done", run.stdout)
        self.assertEqual(run.stdout, (self.results / "summary.txt").read_text())

    def test_a_failing_and_a_hanging_step_do_not_keep_the_others_from_running(self):
        self.program(self.pack / "test-simulated", f'echo "{LOST}"; exit 101')
        self.program(self.pack / "test-gpu_memory", "sleep 60")
        run, order = self.run_all()
        self.assertEqual(1, run.returncode)
        self.assertEqual(2 + len(TESTS) + 1, len(order))
        self.assertRegex(run.stdout, r"test-simulated +FAILED with 101 ")
        self.assertIn(LOST, run.stdout)
        self.assertRegex(run.stdout, r"test-gpu_memory +FAILED: not done after \d+ s")
        self.assertEqual(2, run.stdout.count("FAILED:") + run.stdout.count("FAILED with"))
        self.assertIn(f"== test-simulated\n{LOST}\n== test-sluice_cuda_sim\n", (self.results / "log.txt").read_text())

    def test_on_a_gpu_tests_use_it_and_the_sanitizer_looks_at_the_kernels(self):
        self.gpu()
        self.program(self.bin / "compute-sanitizer",
                     'case $2 in racecheck) echo "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;\n'
                     '*) echo "ERROR SUMMARY: 0 errors" ;; esac\n"${@:5}"')
        run, order = self.run_all()
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        self.assertIn(["sluice-gpu", "engine", "1"], order)
        self.assertTrue(all(words[-1] == "1" for words in order[1:]), order)
        self.assertEqual(3, order.count(["compute-sanitizer", "--tool", "1"]))
        self.assertEqual(3, order.count(["test-gpu_engine", "--exact", "1"]))
        for tool in ("memcheck", "racecheck", "synccheck"):
            self.assertRegex(run.stdout, rf"sanitizer-{tool} +ok")

    def test_what_the_sanitizer_finds_is_a_failure(self):
        self.gpu()
        self.program(self.bin / "compute-sanitizer",
                     'if [[ $2 != racecheck ]]; then echo "ERROR SUMMARY: 0 errors"; exit 0; fi\n'
                     'echo "ERROR SUMMARY: 3 errors"; exit 9')
        run, _ = self.run_all()
        self.assertEqual(1, run.returncode)
        self.assertRegex(run.stdout, r"sanitizer-racecheck +FAILED with 9")
        self.assertIn("3 errors", (self.results / "sanitizer.txt").read_text())

    def test_a_sanitizer_that_is_not_there_or_refuses_the_device_is_skipped(self):
        self.gpu()
        run, _ = self.run_all()
        self.assertEqual(0, run.returncode)
        self.assertIn("skipped: no compute-sanitizer", run.stdout)
        self.program(self.bin / "compute-sanitizer", 'echo "Device not supported"; exit 1')
        run, _ = self.run_all()
        self.assertEqual(0, run.returncode)
        self.assertEqual(3, run.stdout.count("skipped: compute-sanitizer says"))

    def test_a_driver_that_does_not_work_is_a_failure_and_the_rest_is_simulated(self):
        self.program(self.pack / "sluice-gpu", '[[ $1 != device ]] || { echo "cuInit: refused" >&2; exit 1; }')
        run, order = self.run_all()
        self.assertEqual(1, run.returncode)
        self.assertRegex(run.stdout, r"device +FAILED with 1")
        self.assertEqual(2 + len(TESTS) + 1, len(order))
        self.assertTrue(all(words[-1] != "1" for words in order), order)

    def test_a_pack_without_kernels_does_not_pass_on_a_gpu(self):
        self.gpu()
        (self.pack / "kernels").rmdir()
        run, order = self.run_all()
        self.assertEqual(1, run.returncode)
        self.assertIn("the pack has none for GPUs", run.stdout)
        self.assertTrue(all(words[-1] != "1" for words in order), order)

    def test_what_is_no_pack_is_refused(self):
        (self.pack / "sluice-gpu").unlink()
        run, order = self.run_all()
        self.assertEqual((1, []), (run.returncode, order))
        self.assertIn("./sluice gpu pack", run.stderr)
        shutil.rmtree(self.pack)
        self.assertIn("no folder", self.run_all()[0].stderr)

    def test_all_limits_together_are_less_than_ten_minutes(self):
        steps = r"^ *(?:if )?(?:test_step|sanitizer_step|step) [\w-]+ (\d+)"
        limits = [int(limit) for limit in re.findall(steps, TOOL.read_text(), re.MULTILINE)]
        self.assertEqual(1 + len(TESTS) + 3 + 3, len(limits))
        self.assertEqual(530, sum(limits))


if __name__ == "__main__":
    unittest.main()
