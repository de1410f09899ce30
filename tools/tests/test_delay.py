"""The cable with a delay of ./sluice cluster (tools/lib/delay.py): its queue, and the cable between two namespaces."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOLS / "lib"))
import delay  # noqa: E402

LIMIT = 60
DELAY = 0.02
MEGABYTES = 30

# Answers datagrams, then takes a connection and tells the hash of what came over it.
ANSWER = """
import hashlib, socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("10.78.0.2", 4000))
listener = socket.create_server(("10.78.0.2", 4001))
print("ready", flush=True)
for _ in range(10):
    data, address = one.recvfrom(100)
    one.sendto(data, address)
stream, _ = listener.accept()
digest = hashlib.sha256()
while data := stream.recv(1 << 20):
    digest.update(data)
print(digest.hexdigest(), flush=True)
"""

# Prints how long each answer took, then sends so many megabytes and prints their hash.
ASK = """
import hashlib, random, socket, sys, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(30)
for i in range(10):
    start = time.monotonic()
    one.sendto(b"question", ("10.78.0.2", 4000))
    one.recv(100)
    print(time.monotonic() - start)
stream = socket.create_connection(("10.78.0.2", 4001), 30)
data = random.randbytes(int(sys.argv[1]) << 20)
stream.sendall(data)
stream.close()
print(hashlib.sha256(data).hexdigest())
"""


def obstacle():
    """Why there can be no cable here; None if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need root on Linux"
    if not shutil.which("ip"):
        return "no ip (iproute2)"
    name = f"sluice-delay-{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "this machine lets root have no network namespaces"
    try:
        tried = subprocess.run(
            ["ip", "netns", "exec", name, sys.executable, TOOLS / "lib/delay.py", "--check"], capture_output=True,
            text=True)
        return tried.stderr.strip() if tried.returncode else None
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


class WaitingTest(unittest.TestCase):
    def test_times_are_read_as_the_cluster_takes_them(self):
        for text, expected in [("0.2ms", 0.0002), ("5ms", 0.005), ("200us", 0.0002), ("1s", 1), ("1.5s", 1.5)]:
            self.assertAlmostEqual(delay.seconds(text), expected)
        for wrong in ["", "5", "ms", "-1ms", "5 ms", "5m"]:
            with self.assertRaises(ValueError):
                delay.seconds(wrong)

    def test_frames_come_in_their_order_each_after_the_delay(self):
        waiting = delay.Waiting(0.5)
        self.assertIsNone(waiting.until_next(10))
        self.assertTrue(waiting.add(10, b"one"))
        self.assertTrue(waiting.add(10.25, b"other"))
        self.assertEqual(waiting.until_next(10.25), 0.25)
        self.assertEqual(list(waiting.due(10.4)), [])
        self.assertEqual(list(waiting.due(10.5)), [b"one"])
        self.assertEqual(waiting.until_next(11), 0)
        self.assertEqual(list(waiting.due(11)), [b"other"])
        self.assertIsNone(waiting.until_next(11))

    def test_a_frame_too_many_is_lost(self):
        waiting = delay.Waiting(1)
        self.assertEqual(sum(waiting.add(0, b"") for _ in range(delay.MOST_FRAMES + 5)), delay.MOST_FRAMES)


class CableTest(unittest.TestCase):
    def setUp(self):
        reason = obstacle()
        if reason:
            self.skipTest(reason)
        self.host, self.switch = (f"sluice-delay-{os.getpid()}-{end}" for end in ("host", "switch"))
        self.processes = []
        for name in (self.host, self.switch):
            self.ip("netns", "add", name)
            self.addCleanup(self.ip, "netns", "delete", name)
        self.addCleanup(self.end_processes)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, timeout=LIMIT)

    def end_processes(self):
        for process in self.processes:
            process.kill()
            process.communicate()

    def start(self, namespace, *command):
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, *command], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def lay_cable(self):
        self.start(self.switch, TOOLS / "lib/delay.py", "host-0", "port", f"{DELAY}s")
        end = time.monotonic() + LIMIT
        while subprocess.run(["ip", "-n", self.switch, "link", "show", "port"], capture_output=True).returncode:
            self.assertLess(time.monotonic(), end, "no device")
            time.sleep(0.02)
        self.ip("-n", self.switch, "link", "set", "host-0", "netns", self.host, "name", "eth0")
        for namespace, device, address in [(self.host, "eth0", "10.78.0.1/24"), (self.switch, "port", "10.78.0.2/24")]:
            self.ip("-n", namespace, "address", "add", address, "dev", device)
            self.ip("-n", namespace, "link", "set", device, "up")

    def test_the_cluster_says_that_it_can_have_delays(self):
        if not shutil.which("java") and "JAVA_HOME" not in os.environ:
            self.skipTest("no java, which a cluster needs")
        check = [TOOLS / "cluster", "check", "--name", "delaytest"]
        done = subprocess.run(check, capture_output=True, text=True, timeout=4 * LIMIT)
        if done.returncode:
            self.skipTest(done.stderr)
        done = subprocess.run([*check, "--delay", "5ms"], capture_output=True, text=True, timeout=4 * LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_the_host_sends_comes_whole_and_late(self):
        self.lay_cable()
        answering = self.start(self.switch, "-c", ANSWER)
        self.assertEqual(answering.stdout.readline(), "ready\n")
        asking = self.start(self.host, "-c", ASK, str(MEGABYTES))
        output, _ = asking.communicate(timeout=LIMIT)
        *times, sent = output.split()
        self.assertEqual(answering.communicate(timeout=LIMIT)[0].strip(), sent)
        times = sorted(float(each) for each in times)
        self.assertEqual(len(times), 10)
        # One way only: the answer passes at once. The first question also asks for the address.
        self.assertGreaterEqual(times[0], DELAY)


if __name__ == "__main__":
    unittest.main()
