"""Checks on two machines that a link joins: the owner of a map output on the second, its reader on the first."""

import concurrent.futures
import contextlib
import dataclasses
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator

from .machine import Failed, Machine, tail

OWNER_SECONDS = 60


@dataclasses.dataclass
class HostCheck:
    """A test of `native/crates/ucx/tests/two_hosts.rs`, and what happens to the owner's machine at words of it."""

    name: str
    test: str
    limit: int
    happens: dict[str, Callable[[Machine], None]] = dataclasses.field(default_factory=dict)


def stand_still(machine: Machine) -> None:
    machine.process.send_signal(signal.SIGSTOP)


def go_on(machine: Machine) -> None:
    machine.process.send_signal(signal.SIGCONT)


# The machine of the last one is gone afterwards. A host that stands still is to its reader what a broken link is. The
# link itself is not taken down: soft-RoCE then ends what is under way with errors, over which UCX 1.18 aborts.
HOST_CHECKS = [
    HostCheck("two hosts: reads", "all_blocks_of_another_host_are_read", 120),
    HostCheck("two hosts: one stands still", "a_host_that_stood_still_is_read_again", 300,
              {"reading": stand_still, "failed": go_on}),
    HostCheck("two hosts: one vanishes", "a_host_that_vanishes_ends_its_blocks_in_time", 240,
              {"reading": Machine.stop}),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def owner(machine: Machine, settings: str, program: str) -> Iterator[str]:
    """An owner on `machine`, until the end of the `with`; its address."""
    log = machine.share / "owner.log"
    log.unlink(missing_ok=True)
    command = f"setsid {program} owner --exact --ignored --nocapture >/share/owner.log 2>&1 </dev/null &"
    machine.run(settings + command, 30)
    end = time.monotonic() + OWNER_SECONDS
    while not (found := re.search(r"^address ([0-9a-f]+)$", said(log), re.MULTILINE)):
        if time.monotonic() > end:
            raise Failed(f"the owner does not start; printed so far:\n{tail(said(log))}")
        time.sleep(0.2)
    try:
        yield found[1]
    finally:
        if machine.process is not None:
            machine.run("pkill -KILL -f 'owner --exact' || true", 30)


def said(log) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def run_host_check(
        reader: Machine, other: Machine, check: HostCheck, settings: str, program: str) -> tuple[int, str]:
    """The test's exit code, and what it printed."""
    with owner(other, settings, program) as address, concurrent.futures.ThreadPoolExecutor() as threads:
        variables = f"export SLUICE_TEST_OWNERS_ADDRESS={address}\n"
        command = f"{settings}{variables}{program} {check.test} --exact --ignored --nocapture"
        output = reader.share / f"{reader.commands + 1}.output"
        ended = threads.submit(reader.run, command, check.limit)
        try:
            for word, action in check.happens.items():
                while not ended.done() and f"\n{word}\n" not in said(output):
                    time.sleep(0.1)
                action(other)
            return ended.result()
        finally:
            if other.process is not None:
                go_on(other)
