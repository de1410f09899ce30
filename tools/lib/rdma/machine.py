"""A virtual machine with a soft-RoCE device: QEMU, with KVM where that works, else emulating the processor (TCG)."""

import contextlib
import pathlib
import shutil
import subprocess
import time

from rdma import packages

# A quiet host boots it in 12 s by TCG, a busy one in 50 s.
BOOT_SECONDS = 150
KVM_BOOT_SECONDS = 40
# So long after its limit, a command that the machine was to end has ended; else the machine itself hangs.
GRACE_SECONDS = 20
KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 nokaslr tsc=reliable no_timer_check")
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"


class Failed(Exception):
    """The machine did not do what was asked; the message says what it printed."""


class Machine:
    """One machine, until the end of its `with`."""

    def __init__(self, folder: pathlib.Path, root: pathlib.Path, linux: pathlib.Path, checkout: pathlib.Path,
                 number: int, link: str, jdk: pathlib.Path | None = None):
        """`linux` has the kernel; `jdk` is at /jdk there; with it the machine has memory for a Spark application."""
        self.folder, self.root, self.linux, self.checkout = folder, root, linux, checkout
        self.number, self.link = number, link
        self.jdk = jdk
        self.share, self.log = folder / f"share{number}", folder / f"machine{number}.log"
        self.commands, self.process = 0, None

    def __enter__(self) -> "Machine":
        remembered = self.folder / "accelerator"
        usual = remembered.read_text() if remembered.exists() else "kvm" if pathlib.Path("/dev/kvm").exists() else "tcg"
        for accelerator in dict.fromkeys([usual, "tcg", "tcg again"]):
            if self.boot(accelerator.split()[0]):
                remembered.write_text(accelerator.split()[0])
                return self
        raise Failed(f"it does not boot; the end of {self.log}:\n" + tail(self.log.read_text(errors="replace")))

    def __exit__(self, *_: object) -> None:
        self.stop()

    def boot(self, accelerator: str) -> bool:
        shutil.rmtree(self.share, ignore_errors=True)
        self.share.mkdir(parents=True)
        shutil.copy(pathlib.Path(__file__).parent / "guest.sh", self.share)
        (self.share / "number").write_text(f"{self.number}\n")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command(accelerator), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment())
        end = time.monotonic() + (KVM_BOOT_SECONDS if accelerator == "kvm" else BOOT_SECONDS)
        while time.monotonic() < end and self.process.poll() is None:
            printed = self.log.read_text(errors="replace")
            if "READY after" in printed:
                return True
            if "KVM internal error" in printed:
                break
            time.sleep(0.2)
        self.stop()
        return False

    def command(self, accelerator: str) -> list[str]:
        """QEMU is that of the packages, with their loader and libraries."""
        usr, kernel = self.root / "usr", packages.kernel(self.linux)
        libraries = usr / "lib/x86_64-linux-gnu"
        cpu = ["-accel", "kvm", "-cpu", "host,arch-capabilities=off"] if accelerator == "kvm" else [
            "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]
        shares = [("packages", self.root, ",readonly=on"), ("checkout", self.checkout, ",readonly=on"),
                  ("share", self.share, "")]
        if self.jdk:
            shares.append(("jdk", self.jdk, ",readonly=on"))
        disks = [word for name, path, mode in shares for word in (
            "-fsdev", f"local,id={name},path={path},security_model=none,multidevs=remap{mode}",
            "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}")]
        return [
            "nice", "-n", "10", str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries),
            str(usr / "bin/qemu-system-x86_64"), "-L", str(usr / "share/qemu"), "-L", str(usr / "share/seabios"),
            "-machine", "q35", *cpu, "-smp", "2", "-m", "7000" if self.jdk else "2500", "-nographic", "-no-reboot",
            "-nodefaults",
            "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(self.folder / "initramfs"),
            "-append", KERNEL_ARGUMENTS, *disks, "-netdev", f"socket,id=link,{self.link}", "-device",
            f"virtio-net-pci,netdev=link,mac=52:54:00:00:00:0{self.number},romfile=,host_mtu=9000"]

    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "QEMU_MODULE_DIR": str(self.root / "usr/lib/x86_64-linux-gnu/qemu")}

    def run(self, command: str, limit: float) -> tuple[int, str]:
        """Runs a command as root there; its status, and what it printed. The machine ends it after `limit` seconds."""
        self.commands += 1
        (self.share / f"{self.commands}.limit").write_text(f"{limit:.0f}\n")
        file = self.share / f"{self.commands}.new"
        file.write_text(command)
        file.rename(self.share / f"{self.commands}.command")
        status, output = (self.share / f"{self.commands}.{kind}" for kind in ("status", "output"))
        end = time.monotonic() + limit + GRACE_SECONDS
        while not status.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                printed = output.read_text(errors="replace") if output.exists() else ""
                raise Failed(f"no end within {limit:.0f} s; printed so far:\n{tail(printed)}")
            time.sleep(0.1)
        return int(status.read_text()), output.read_text(errors="replace")

    def counter(self, name: str) -> int:
        return int(self.run(f"cat {COUNTERS}/{name}", 30)[1])

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process = None


def tail(text: str) -> str:
    return "\n".join(text.splitlines()[-40:])
