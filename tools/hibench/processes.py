"""Programs that are run in a process group of their own, so that nothing of them is left when they are given up."""

import contextlib
import os
import signal
import subprocess
import time

TERMINATE_SECONDS = 15
KILL_SECONDS = 15


class Failure(Exception):
    """What cannot be done, in a sentence for the user."""


def stop_on_termination():
    """Makes the end by SIGTERM or a hang-up that by Ctrl-C, so that what runs is ended too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def run(command, log, seconds, env=None, cwd=None):
    """Runs `command`; returns its status. Standard error is appended to the file `log`, standard output to the file
    output_of(log).

    Ends its whole process group and raises Failure when `seconds` are over; does so, too, before KeyboardInterrupt goes
    on. Processes that the command has left behind are ended.
    """
    with open(log, "ab") as errors, open(output_of(log), "ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, cwd=cwd,
                                   start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            name = os.path.basename(str(command[0]))
            raise Failure(f"{name} was ended after {seconds} s; its output is in {output_of(log)}") from None
        finally:
            end_group(process)


def output_of(log):
    """The file beside `log` with a command's standard output: apart, so that messages do not tear what it prints."""
    return log.with_suffix(".out")


def end_group(process):
    """Ends every process of the group that `process` leads, by SIGTERM and then by SIGKILL."""
    for number, seconds in ((signal.SIGTERM, TERMINATE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        if not signal_group(process.pid, number):
            break
        end = time.monotonic() + seconds
        while time.monotonic() < end and signal_group(process.pid, 0):
            process.poll()
            time.sleep(0.02)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILL_SECONDS)


def signal_group(group, number):
    """Whether the group had a process that the signal could be sent to."""
    try:
        os.killpg(group, number)
        return True
    except ProcessLookupError:
        return False
