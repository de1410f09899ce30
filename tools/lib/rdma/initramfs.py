"""The first file system of the virtual machine: busybox, the kernel modules that it needs, and the script `init`."""

import gzip
import lzma
import pathlib
import re

# The checksums first: file systems and soft-RoCE ask for them by their algorithm's name, not as modules they depend on.
MODULES = [
    "crc32c_generic", "crc32_generic", "virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay", "loop", "ext4",
    "xfs", "ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "rdma_rxe"]
TOOLS = ["sh", "cat", "chroot", "echo", "insmod", "mkdir", "mount"]
DIRECTORIES = ["bin", "dev", "modules", "new", "proc", "sys"]


def write(root: pathlib.Path, linux: pathlib.Path, init: pathlib.Path, to: pathlib.Path) -> None:
    """`root` is that of the packages, `linux` has the kernel's modules."""
    files = {"init": init.read_bytes(), "bin/busybox": (root / "usr/bin/busybox").read_bytes()}
    names = []
    for name, content in ordered_modules(linux):
        files[f"modules/{name}.ko"] = content
        names.append(name)
    files["modules/order"] = "\n".join(names).encode()
    archive = Archive()
    for directory in DIRECTORIES:
        archive.add(directory, b"", 0o040755)
    for name, content in files.items():
        archive.add(name, content, 0o100755)
    for tool in TOOLS:
        archive.add(f"bin/{tool}", b"busybox", 0o120777)
    to.write_bytes(gzip.compress(archive.end(), 1))


def ordered_modules(root: pathlib.Path) -> list[tuple[str, bytes]]:
    """Names and contents, each after those that it needs. What is built into the kernel has no file."""
    # Where packages of releases before trixie have them, too.
    folders = [root / "usr/lib/modules", root / "lib/modules"]
    found = {canonical(path.name.split(".")[0]): path for folder in folders for path in folder.rglob("*.ko*")}
    ordered: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in ordered or name not in found:
            return
        content = found[name].read_bytes()
        if found[name].suffix == ".xz":
            content = lzma.decompress(content)
        for needed in re.findall(rb"\0depends=([^\0]*)\0", content):
            for other in filter(None, needed.decode().split(",")):
                add(canonical(other))
        ordered[name] = content

    for name in MODULES:
        add(canonical(name))
    return list(ordered.items())


def canonical(module: str) -> str:
    return module.replace("-", "_")


class Archive:
    """cpio in the form that the kernel reads (newc)."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.files = 0

    def add(self, name: str, content: bytes, mode: int) -> None:
        self.files += 1
        encoded = name.encode() + b"\0"
        fields = [self.files, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self.parts += [padded(header + encoded), padded(content)]

    def end(self) -> bytes:
        self.add("TRAILER!!!", b"", 0)
        return b"".join(self.parts)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)
