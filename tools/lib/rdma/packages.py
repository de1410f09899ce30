"""Debian's packages for the virtual machine, unpacked below build/rdma: kernel, QEMU, UCX with verbs, a small system.

Nothing is installed on this machine, and no root is needed: apt-get has lists, cache and status of its own.
"""

import pathlib
import shutil
import subprocess

# The first Debian whose UCX (1.18) is new enough and whose kernel (6.12) pins file pages on tmpfs only.
BRANCH = "trixie"
PACKAGES = [
    "linux-image-amd64", "qemu-system-x86", "bash", "coreutils", "iproute2", "rdma-core", "ibverbs-utils",
    "ibverbs-providers", "libucx0", "ucx-utils", "e2fsprogs", "xfsprogs", "mount", "util-linux", "busybox-static",
    "procps", "sed", "grep", "gawk", "findutils", "zlib1g"]
# Debian's releases by the versions of Linux that they have. The next release's changes: 7.2 in November 2026.
LINUX = {"6.12": BRANCH, "6.1": "bookworm", "next": "forky"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """What is needed cannot be had here; the message is one line."""


def prepare(folder: pathlib.Path) -> pathlib.Path:
    """The folder of the unpacked packages; gets them the first time."""
    root, complete, wanted = folder / "root", folder / "complete", " ".join([BRANCH, *PACKAGES])
    if complete.exists() and complete.read_text() == wanted:
        return root
    unpack(folder, BRANCH, PACKAGES)
    complete.write_text(wanted)
    return root


def prepare_linux(folder: pathlib.Path, version: str) -> pathlib.Path:
    """The folder with the kernel and its modules of a Linux: that of all packages, or of another release's kernel."""
    if LINUX[version] == BRANCH:
        return folder / "root"
    other = folder / f"linux-{version}"
    if not (other / "complete").exists():
        unpack(other, LINUX[version], ["linux-image-amd64"], wanted="linux-*")
        (other / "complete").touch()
    return other / "root"


def kernel(root: pathlib.Path) -> pathlib.Path:
    """The kernel's image below `root`: in /boot, or, in releases after trixie, with its modules."""
    for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"):
        for image in root.glob(pattern):
            return image
    raise Unavailable(f"no kernel below {root}: Debian's packages have it at another place now")


def unpack(folder: pathlib.Path, branch: str, names: list[str], wanted: str = "*") -> None:
    """Unpacks `names` and what they need into `root` in `folder`, which is made anew; of them only those packages whose
    names match `wanted`."""
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise Unavailable(f"no {program}, which brings QEMU, a kernel and UCX")
    if not pathlib.Path(KEYRING).exists():
        raise Unavailable(f"no {KEYRING}, by which Debian's packages are checked")
    shutil.rmtree(folder, ignore_errors=True)
    root, state = folder / "root", folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True)
    options = apt_options(state, branch)
    apt(options, "update")
    apt(options, "install", "--yes", "--no-install-recommends", "--download-only", *names)
    root.mkdir()
    archives = (state / "cache/archives").glob(f"{wanted}.deb")
    # base-files first: it has the links /bin, /lib and /sbin.
    for package in sorted(archives, key=lambda it: not it.name.startswith("base-files")):
        if subprocess.run(["dpkg-deb", "-x", package, root]).returncode:
            raise Unavailable(f"dpkg-deb cannot unpack {package}")
    shutil.rmtree(state)


def apt_options(state: pathlib.Path, branch: str) -> list[str]:
    """Options by which apt-get touches nothing but `state`, and takes packages from where this machine's come from."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False).stdout
    servers = [line for line in targets.splitlines() if line.endswith("/debian/")]
    if not servers:
        raise Unavailable("apt-get knows no source of Debian's packages")
    (state / "sources.list").write_text(f"deb [signed-by={KEYRING}] {servers[0]} {branch} main\n")
    (state / "status").touch()
    settings = {
        "Dir::State::lists": state / "lists", "Dir::State::status": state / "status", "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list", "Dir::Etc::sourceparts": "-", "APT::Sandbox::User": "",
        "Debug::NoLocking": "1", "APT::Architecture": "amd64"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def apt(options: list[str], *arguments: str) -> None:
    done = subprocess.run(["apt-get", "-q", *options, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unavailable(f"apt-get {arguments[0]} failed: {last}")
