"""What ./sluice rdma-test makes for its virtual machine (tools/lib/rdma), without a machine."""

import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from rdma import initramfs, packages  # noqa: E402
from rdma.machine import Machine  # noqa: E402


def files_of(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Names, modes and contents of a cpio archive of the form newc."""
    files, at = {}, 0
    while at < len(archive):
        assert archive[at:at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110:at + 110 + name_size - 1].decode()
        at = (at + 110 + name_size + 3) // 4 * 4
        files[name] = (mode, archive[at:at + size])
        at = (at + size + 3) // 4 * 4
    return files


class InitramfsTest(unittest.TestCase):
    def test_archive_has_what_was_added(self):
        archive = initramfs.Archive()
        archive.add("bin", b"", 0o040755)
        archive.add("bin/odd", b"12345", 0o100755)
        archive.add("bin/sh", b"busybox", 0o120777)
        self.assertEqual(files_of(archive.end()), {
            "bin": (0o040755, b""), "bin/odd": (0o100755, b"12345"), "bin/sh": (0o120777, b"busybox"),
            "TRAILER!!!": (0, b"")})

    def test_modules_come_after_those_that_they_need(self):
        with tempfile.TemporaryDirectory() as folder:
            modules = pathlib.Path(folder) / "usr/lib/modules/6.12/kernel"
            modules.mkdir(parents=True)
            for name, needs in [("rdma_rxe", "ib_uverbs,udp-tunnel"), ("ib_uverbs", "ib_core"), ("ib_core", ""),
                                ("udp-tunnel", "built_in")]:
                content = b"\0license=GPL\0depends=" + needs.encode() + b"\0"
                (modules / f"{name}.ko.xz").write_bytes(lzma.compress(content))
            (modules / "loop.ko").write_bytes(b"\0depends=\0")
            names = [name for name, _ in initramfs.ordered_modules(pathlib.Path(folder))]
        self.assertEqual(names, ["loop", "ib_core", "ib_uverbs", "udp_tunnel", "rdma_rxe"])


class GuestTest(unittest.TestCase):
    def test_a_command_that_hangs_is_ended_and_the_next_one_runs(self):
        guest = (pathlib.Path(__file__).resolve().parents[1] / "lib/rdma/guest.sh").read_text()
        commands = guest[guest.index("for ((next = 1"):]
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(pathlib.Path(folder), pathlib.Path(), pathlib.Path(), pathlib.Path(), 1, "")
            machine.share.mkdir()
            script = re.sub("/share", str(machine.share), commands)
            machine.process = subprocess.Popen(["bash", "-c", script], stdin=subprocess.DEVNULL)
            try:
                self.assertEqual(machine.run("echo begun; sleep 60; echo ended", 1), (124, "begun\n"))
                self.assertEqual(machine.run("echo next; exit 3", 10), (3, "next\n"))
            finally:
                machine.stop()


class PackagesTest(unittest.TestCase):
    def test_a_machine_without_apt_is_told_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(packages.Unavailable, "^no apt-get, .*$"):
                packages.prepare(pathlib.Path(folder))

    def test_the_kernel_of_the_same_release_is_that_of_the_packages(self):
        folder = pathlib.Path("build/rdma")
        self.assertEqual(packages.prepare_linux(folder, "6.12"), folder / "root")

    def test_a_kernel_that_was_unpacked_completely_is_used_again(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("shutil.which", return_value=None):
            other = pathlib.Path(folder) / "linux-6.1"
            other.mkdir()
            with self.assertRaisesRegex(packages.Unavailable, "^no apt-get, .*$"):
                packages.prepare_linux(pathlib.Path(folder), "6.1")
            self.assertTrue(other.is_dir(), "what is there stays where nothing else can be had")
            (other / "complete").touch()
            self.assertEqual(packages.prepare_linux(pathlib.Path(folder), "6.1"), other / "root")

    def test_the_kernel_is_found_where_each_release_has_it(self):
        for place in ("boot/vmlinuz-6.12", "usr/lib/modules/7.2/vmlinuz"):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                with self.assertRaisesRegex(packages.Unavailable, "^no kernel below .*$"):
                    packages.kernel(root)
                (root / place).parent.mkdir(parents=True)
                (root / place).touch()
                self.assertEqual(packages.kernel(root), root / place)

    def test_what_was_unpacked_completely_is_used_again(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("shutil.which", return_value=None):
            complete = " ".join([packages.BRANCH, *packages.PACKAGES])
            (pathlib.Path(folder) / "complete").write_text(complete)
            self.assertEqual(packages.prepare(pathlib.Path(folder)), pathlib.Path(folder) / "root")


if __name__ == "__main__":
    unittest.main()
