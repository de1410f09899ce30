"""The commands that need several hosts, as they are printed: docs/deployment/cluster-on-one-machine.md, its cluster for
docs/potential.md, perftest of docs/deployment/doctor.md between two of its hosts, and UCX's own programs of
docs/deployment/ucx.md. Linux, as root; elsewhere, and without UCX's programs, they are skipped by name.

Places of this machine stand for those of the pages, and the benchmark gets fewer rows and runs than it has by itself.
"""

import contextlib
import os
import platform
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import guide
import pyspark
from test_pyspark import BUILD, environment, in_all
from test_standalone import await_true, running

CHECKOUT = BUILD.parent
LIMIT_SECONDS = 900
UCX = BUILD / "ucx" / f"wheel-{platform.machine()}" / "libucx"
BENCH_JAR = BUILD / "sluice-bench.jar"


def obstacle():
    """Why this machine can have no cluster; empty when it can."""
    check = subprocess.run([CHECKOUT / "tools" / "cluster", "check"], text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    return "" if check.returncode == 0 else (check.stdout.strip().splitlines() or ["no cluster"])[-1]


@contextlib.contextmanager
def folder_with_programs():
    """A folder for a test's files, with a sudo that does nothing where root has none."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hosts-run-", dir=BUILD, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        sudo = folder / "bin" / "sudo"
        sudo.parent.mkdir()
        sudo.write_text('#!/bin/sh\nexec "$@"\n')
        sudo.chmod(0o755)
        yield folder


def variables(folder):
    spark = Path(pyspark.__path__[0])
    return environment() | {"PATH": guide.path_with(folder / "bin", spark / "bin"), "SPARK_HOME": str(spark)}


@in_all
class HostsTest(unittest.TestCase):
    def setUp(self):
        reason = obstacle()
        if reason:
            self.skipTest(reason)

    def typed(self, block, folder, **places):
        """What a block prints, with other words for some of the page."""
        for printed, here in places.items():
            self.assertIn(printed, block)
            block = block.replace(printed, here)
        return guide.run(block, CHECKOUT, variables(folder), LIMIT_SECONDS)

    def test_a_cluster_comes_up_runs_a_program_and_goes(self):
        block = guide.commands("docs/deployment/cluster-on-one-machine.md", "test_hosts")[0]
        if shutil.which("ping") is None:
            lines = block.split("\n")
            block = "\n".join(line for line in lines if "-- ping " not in line)
            self.assertEqual(block.count("\n") + 2, len(lines))
        with folder_with_programs() as folder:
            (folder / "job.sql").write_text("SELECT id % 7, count(*) FROM range(0, 1000, 1, 3) GROUP BY id % 7;\n")
            try:
                job = f"--class io.sluice.bench.driver.JobMain {BENCH_JAR} sql {folder / 'job.sql'}"
                said = self.typed(block, folder, **{"--class … app.jar": job})
            finally:
                self.down(folder)
        self.assertIn("spark://10.77.0.1:7077", said)
        # The table of status.
        for host in ("driver", "w1", "w2", "w3"):
            self.assertRegex(said, rf"(?m)^{host} +10\.77\.0\.\d+ +up +runs +1gbit, loss 0\.1%$")
        master = (BUILD / "logs" / "cluster-default" / "master.log").read_text(encoding="utf-8")
        self.assertIn("Registered app", master)
        with folder_with_programs() as folder, self.assertRaisesRegex(AssertionError, "no cluster is up"):
            guide.run("./sluice cluster status", CHECKOUT, variables(folder), LIMIT_SECONDS)

    def down(self, folder):
        guide.run("./sluice cluster down", CHECKOUT, variables(folder), LIMIT_SECONDS)

    def test_the_demo_on_three_hosts(self):
        with folder_with_programs() as folder:
            said = self.typed(guide.commands("docs/deployment/cluster-on-one-machine.md", "test_hosts")[1], folder,
                              **{"--rate 1gbit": "--rate 1gbit --size 20m"})
        self.assertIn("Up: 3 workers", said)
        self.assertIn("All outputs are equal.", said)

    def test_a_benchmark_on_hosts_of_its_own(self):
        with folder_with_programs() as folder:
            result = folder / "results.json"
            self.typed(guide.commands("docs/deployment/cluster-on-one-machine.md", "test_hosts")[2], folder,
                       **{"results.json": f"{result} --rows 100000 --runs 1 --warmups 0"})
            self.assertIn('"hosts"', result.read_text(encoding="utf-8"))

    def test_what_a_free_network_would_give(self):
        block, = guide.commands("docs/potential.md", "test_hosts")
        with folder_with_programs() as folder:
            said = self.typed(block, folder)
        self.assertRegex(said, r"(?i)network")

    def test_perftest_between_two_hosts(self):
        block, = guide.commands("docs/deployment/doctor.md", "test_hosts")
        listen, connect = [line.split("#")[0].strip() for line in block.split("\n") if "perftest --" in line]
        with folder_with_programs() as folder:
            jar, = BUILD.glob("sluice-[0-9]*.jar")
            (folder / jar.name).symlink_to(jar)
            own = variables(folder)
            on = f"{CHECKOUT / 'tools' / 'cluster'} run --name perftest --on"
            guide.run("./sluice cluster up --name perftest --workers 2 --rate 1gbit", CHECKOUT, own, LIMIT_SECONDS)
            try:
                with running(f"{on} w1 -- {listen}", folder, "listen", own) as log:
                    await_true(log.read_text, lambda: "13400" in log.read_text())
                    said = guide.run(f"{on} w2 -- {connect.replace('HOST', '10.77.0.11')}", folder, own, LIMIT_SECONDS)
            finally:
                guide.run("./sluice cluster down --name perftest", CHECKOUT, own, LIMIT_SECONDS)
        self.assertIn("verdict: one-sided reads work between these processes, by UCX over the network", said)


@in_all
class UcxProgramsTest(unittest.TestCase):
    def test_ucx_without_spark(self):
        block, = guide.commands("docs/deployment/ucx.md", "test_hosts")
        lines = [line.split("#")[0].strip() for line in block.split("\n")]
        version, devices, serve, read, more = lines
        if shutil.which("ucx_perftest"):
            own = dict(os.environ)
        elif (UCX / "bin" / "ucx_perftest").exists():
            libraries = [UCX / "lib", *UCX.parent.glob("*.libs")]
            own = os.environ | {"PATH": guide.path_with(UCX / "bin"),
                                "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))}
        else:
            self.skipTest("no ucx_perftest, neither the system's nor one in build/ucx")
        own = {**own, "UCX_TLS": "tcp,self"} if Path("/sys/class/infiniband").is_dir() else own
        with folder_with_programs() as folder:
            # Programs of the wheel are not made executable by all who unpack it.
            for program in ("ucx_info", "ucx_perftest"):
                found = UCX / "bin" / program
                if found.exists() and not os.access(found, os.X_OK):
                    shutil.copy(found, folder / "bin" / program)
                    (folder / "bin" / program).chmod(0o755)
            own["PATH"] = f"{folder / 'bin'}{os.pathsep}{own['PATH']}"
            self.assertRegex(guide.run(version, folder, own, LIMIT_SECONDS), r"ersion.*1\.\d+")
            self.assertIn("tcp", guide.run(devices, folder, own, LIMIT_SECONDS))
            self.assert_reads(folder, own, serve, read)
            prefix, = more.split("ucx_perftest …")[:1]
            said = self.assert_reads(folder, own, prefix + serve, prefix + read)
            self.assertIn("tcp", said)

    def assert_reads(self, folder, own, serve, read):
        with running(serve, folder, "serve", own):
            end = time.monotonic() + 60
            while True:
                try:
                    said = guide.run(read.replace("HOST", "127.0.0.1"), folder, own, LIMIT_SECONDS)
                    break
                except AssertionError:
                    # It does not listen yet.
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.5)
        self.assertRegex(said, r"(?m)^Final: +1000 ")
        return said


if __name__ == "__main__":
    unittest.main()
