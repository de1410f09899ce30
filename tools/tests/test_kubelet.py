"""What the stand-in for a kubelet (tools/control-plane/kubelet.py) makes of pods, without a control plane."""

import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1] / "control-plane"
sys.path.insert(0, str(TOOLS))

import exec_server  # noqa: E402
from control_plane import free_ports, remove_folders_of_the_dead  # noqa: E402
from kubelet import Pod, Unsupported, expanded, size_in_bytes  # noqa: E402


def pod(**spec):
    container = {"name": "executor", "image": "image"}
    return {"metadata": {"name": "exec-1", "namespace": "spark"},
            "spec": {"nodeName": "here", "containers": [container | spec.pop("container", {})], **spec}}


class KubeletTest(unittest.TestCase):
    def test_names_in_parentheses_are_variables(self):
        for text, wanted in (("$(A)", "1"), ("x$(A)$(B)", "x12"), ("$(C)", "$(C)"), ("$$(A)", "$(A)"), ("$A", "$A"),
                             ("", ""), ("$(A", "$(A")):
            with self.subTest(text):
                self.assertEqual(wanted, expanded(text, {"A": "1", "B": "2"}))

    def test_variables_of_a_pod(self):
        made = Pod(pod(container={"env": [
            {"name": "PLAIN", "value": "a"}, {"name": "EMPTY"}, {"name": "BEFORE", "value": "$(LATER)"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "LATER", "value": "$(IP):$(PLAIN):$(NODE)"}]}), "127.77.0.2", None)
        self.assertEqual({"NODE": "n", "PLAIN": "a", "EMPTY": "", "BEFORE": "$(LATER)", "IP": "127.77.0.2",
                          "LATER": "127.77.0.2:a:n"}, made.environment({"NODE": "n"}))

    def test_what_it_does_not_do_is_refused(self):
        secret = {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
        with self.assertRaisesRegex(Unsupported, "exec-1: the variable S is from .*secretKeyRef"):
            Pod(pod(container={"env": [secret]}), "127.77.0.2", None).environment({})
        two = pod()
        two["spec"]["containers"] *= 2
        with self.assertRaisesRegex(Unsupported, "several containers"):
            Pod(two, "127.77.0.2", None).environment({})
        with self.assertRaisesRegex(Unsupported, "several containers"):
            Pod(pod(initContainers=[{"name": "first"}]), "127.77.0.2", None).environment({})

    def test_sizes(self):
        self.assertEqual([5, 3 << 10, 64 << 20, 1 << 30], [size_in_bytes(each) for each in ("5", "3Ki", "64Mi", "1Gi")])

    def test_a_pod_that_has_ended_is_not_ready(self):
        made = Pod(pod(), "127.77.0.2", None)
        self.assertEqual([{"False"}, {"True"}], [
            {each["status"] for each in made.status(phase, {})["status"]["conditions"]}
            for phase in ("Succeeded", "Running")])


def masked(kind, content, mask=b"\1\2\3\4"):
    """A frame as a client sends it."""
    whole = exec_server.frame(kind, content)
    head = whole[:len(whole) - len(content)]
    return head[:1] + bytes([head[1] | 0x80]) + head[2:] + mask + bytes(b ^ mask[n % 4] for n, b in enumerate(content))


class ExecTest(unittest.TestCase):
    def test_frames_of_each_length_are_read_as_they_were_written(self):
        for length in (0, 1, 125, 126, 127, 65535, 65536):
            content = bytes(n % 251 for n in range(length))
            with self.subTest(length):
                self.assertEqual((2, content), exec_server.read_frame(io.BytesIO(masked(2, content))))

    def test_frames_of_nobodys_are_refused(self):
        whole = masked(2, b"text")
        for bad in (b"", whole[:1], whole[:-1], exec_server.frame(2, b"text"), masked(2, b"x" * 65537)):
            with self.subTest(bad[:9]), self.assertRaises(ValueError):
                exec_server.read_frame(io.BytesIO(bad))

    def test_how_a_command_has_ended(self):
        self.assertEqual("Success", exec_server.status(0)["status"])
        for code, wanted in ((3, "3"), (-9, "137")):
            self.assertEqual([{"reason": "ExitCode", "message": wanted}], exec_server.status(code)["details"]["causes"])


class FoldersTest(unittest.TestCase):
    def test_folders_of_dead_processes_go(self):
        """No process has the number 0, and this one lives."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for each in ("run-0-a", f"run-{os.getpid()}-b", "v1.37.2-abc", "run-x-c"):
                (folder / each).mkdir()
            remove_folders_of_the_dead(folder)
            self.assertEqual({f"run-{os.getpid()}-b", "v1.37.2-abc", "run-x-c"},
                             {each.name for each in folder.iterdir()})

    def test_ports_differ(self):
        self.assertEqual(20, len(set(free_ports(20))))


if __name__ == "__main__":
    unittest.main()
