#!/usr/bin/env python3
"""A cable with a delay, for kernels that cannot delay packets themselves (netem): a link of ./sluice cluster --delay.

    delay.py HOST-END SWITCH-END TIME     for example: delay.py w1-0 w1 5ms
    delay.py --check                      silent, or the reason why it cannot run here

Makes two TAP devices with these names in its network namespace and carries frames between them until it is killed; then
they are gone. The host's end may be moved into another namespace. What comes from the host waits for TIME, what comes
from the switch passes at once, as with netem on what a host sends. A frame may be 64 KiB that are still to be split
(IFF_VNET_HDR), so that a fast link is few frames.
"""

import collections
import errno
import fcntl
import os
import re
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
TUNSETOFFLOAD = 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
# What the device takes and gives as it is: frames without a checksum, and long ones of TCP over IPv4 and IPv6.
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 = 0x01, 0x02, 0x04
# The longest frame with its headers is a little more than 64 KiB.
LONGEST_FRAME = 70_000
# Frames that wait at most; what comes then is lost, as in netem.
MOST_FRAMES = 100_000
# Frames that one end may bring before the other is looked at.
FRAMES_A_TURN = 64
# A frame that a device does not take is lost, as on a cable: the device is down, or has no memory for it.
LOST = {errno.EIO, errno.EINVAL, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN}


def seconds(text):
    """The time that a text as 0.2ms says."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s)", text)
    if not match:
        raise ValueError(f"'{text}' is no time, as 0.2ms")
    return float(match[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[match[2]]


class Waiting:
    """Frames that wait, each for the same time, in their order."""

    def __init__(self, delay):
        self.delay = delay
        self.frames = collections.deque()

    def add(self, now, frame):
        """A frame has come; whether there was room for it."""
        if len(self.frames) >= MOST_FRAMES:
            return False
        self.frames.append((now + self.delay, frame))
        return True

    def due(self, now):
        """Takes out those that have waited long enough."""
        while self.frames and self.frames[0][0] <= now:
            yield self.frames.popleft()[1]

    def until_next(self, now):
        """Seconds until the next one is due; None without one."""
        return max(0.0, self.frames[0][0] - now) if self.frames else None


def open_tap(name):
    """A new device; it is gone when the returned descriptor is closed."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)
    return device


def frames_of(device):
    """What has come, at most a turn's frames."""
    for _ in range(FRAMES_A_TURN):
        try:
            yield os.read(device, LONGEST_FRAME)
        except BlockingIOError:
            return


def put(device, frame):
    try:
        os.write(device, frame)
    except OSError as e:
        if e.errno not in LOST:
            raise


def carry(host, switch, delay):
    """Carries frames between two devices, for ever."""
    waiting = Waiting(delay)
    while True:
        readable, _, _ = select.select([host, switch], [], [], waiting.until_next(time.monotonic()))
        if switch in readable:
            for frame in frames_of(switch):
                put(host, frame)
        if host in readable:
            now = time.monotonic()
            for frame in frames_of(host):
                waiting.add(now, frame)
        for frame in waiting.due(time.monotonic()):
            put(switch, frame)


def main(arguments):
    if arguments == ["--check"]:
        os.close(open_tap("delay-check"))
        return
    if len(arguments) != 3:
        sys.exit("usage: delay.py HOST-END SWITCH-END TIME | --check")
    delay = seconds(arguments[2])
    try:
        # A frame that is due must not wait for the executors.
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass
    # The switch's end last: who sees it knows that both are there.
    host = open_tap(arguments[0])
    carry(host, open_tap(arguments[1]), delay)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as e:
        sys.exit(f"error: a link with a delay: {e}")
