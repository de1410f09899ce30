"""What the stand-in for a kubelet (tools/control-plane/kubelet.py) makes of pods, without a control plane."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1] / "control-plane"
sys.path.insert(0, str(TOOLS))

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
