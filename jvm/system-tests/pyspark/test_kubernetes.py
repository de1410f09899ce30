"""The command of docs/deployment/kubernetes.md, as it is printed, against a server that answers as Kubernetes' API
does: what Spark makes of the settings and of each pod template."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import guide
from kubernetes_api import KubernetesApi
from kubernetes_rights import ACCOUNT, Rights
from test_pyspark import BUILD, HERE, LIMIT_SECONDS, environment, in_all, recommended_arguments

FILES = guide.GUIDES / "kubernetes"
CHECKER = HERE.parents[2] / "tools" / "deployment"


def settings_of(block):
    return dict(re.findall(r"--conf (spark\.[\w.]+)=\"?([^\s\"]+)", block))


@in_all
class KubernetesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.block, = guide.commands("docs/deployment/kubernetes.md", "test_kubernetes")
        BUILD.mkdir(exist_ok=True)
        cls.sent = Path(tempfile.mkdtemp(prefix="kubernetes-sent-", dir=BUILD))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.sent)

    def variables(self, folder, api, mode, template):
        jar = recommended_arguments()
        settings = {
            # The server has no watches, and cluster mode's driver never ends.
            "spark.kubernetes.executor.enableApiWatcher": "false",
            "spark.kubernetes.submission.waitAppCompletion": "false",
            "spark.kubernetes.driver.request.timeout": "20000", "spark.ui.enabled": "false",
            "spark.driver.extraClassPath": jar[jar.index("--jars") + 1]}
        if mode == "client":
            settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        conf = folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        return environment() | {
            "PATH": guide.path_with(Path(sys.executable).parent), "SPARK_CONF_DIR": str(conf), "KUBERNETES": api.url,
            "DEPLOY_MODE": mode, "IMAGE": "registry.example/spark-sluice:ubuntu", "TEMPLATE": str(FILES / template),
            "KUBECONFIG": str(folder / "none"), "APPLICATION":
                str(HERE / "waiting_job.py") if mode == "client" else "local:///opt/spark/work-dir/job.py"}

    def keep(self, name, objects):
        for number, each in enumerate(objects):
            (self.sent / f"{name}-{number}.json").write_text(json.dumps(each))

    def executors(self, template):
        """The executors' pods that a driver in this process's place makes."""
        with tempfile.TemporaryDirectory(prefix="kubernetes-run-", dir=BUILD, ignore_cleanup_errors=True) as name, \
                KubernetesApi() as api:
            folder = Path(name)
            with open(folder / "driver.log", "wb") as log:
                driver = subprocess.Popen(
                    ["bash", "-euo", "pipefail", "-c", self.block], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, env=self.variables(folder, api, "client", template),
                    start_new_session=True)
            try:
                end = time.monotonic() + LIMIT_SECONDS
                while len(api.pods("executor")) < 2:
                    if time.monotonic() > end or driver.poll() is not None:
                        raise AssertionError("no executors' pods were made:\n" + "\n".join(api.requests[-20:])
                                             + (folder / "driver.log").read_text()[-6000:])
                    time.sleep(0.2)
                self.assertEqual([], api.refusals)
                self.keep(template, api.objects.values())
                return api.pods("executor")
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(driver.pid, signal.SIGKILL)
                driver.wait(timeout=60)

    def container(self, pod):
        one, = pod["spec"]["containers"]
        return one

    def assert_as_settings_say(self, pod):
        settings = settings_of(self.block)
        heap = int(settings["spark.executor.memory"].rstrip("g"))
        overhead = int(settings["spark.executor.memoryOverhead"].rstrip("g"))
        container = self.container(pod)
        self.assertEqual(f"{(heap + overhead) * 1024}Mi", container["resources"]["limits"]["memory"])
        self.assertEqual(settings["spark.executor.cores"], container["resources"]["requests"]["cpu"])
        self.assertEqual("registry.example/spark-sluice:ubuntu", container["image"])
        self.assertEqual(185, pod["spec"]["securityContext"]["runAsUser"])
        self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])
        self.assertEqual("sluice", pod["metadata"]["labels"]["app.kubernetes.io/part-of"])
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        self.assertEqual("Memory", volumes[mounts["/dev/shm"]]["emptyDir"]["medium"])
        options = " ".join(each.get("value") or "" for each in container["env"])
        self.assertIn("spark.driver.port", options)

    def test_executors_of_each_template(self):
        plain = self.executors("executor-tcp.yaml")[0]
        self.assert_as_settings_say(plain)
        self.assertFalse(plain["spec"].get("hostNetwork", False))
        on_host = self.executors("executor-rdma-host-network.yaml")[0]
        self.assert_as_settings_say(on_host)
        self.assertTrue(on_host["spec"]["hostNetwork"])
        self.assertEqual("1", str(self.container(on_host)["resources"]["limits"]["rdma/hca"]))
        sriov = self.executors("executor-rdma-sriov.yaml")[0]
        self.assert_as_settings_say(sriov)
        self.assertEqual("sluice-rdma", sriov["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
        self.assertEqual("1", str(self.container(sriov)["resources"]["limits"]["openshift.io/rdma"]))
        self.assert_api_takes_what_was_sent()

    def test_cluster_mode_makes_a_driver(self):
        with tempfile.TemporaryDirectory(prefix="kubernetes-run-", dir=BUILD, ignore_cleanup_errors=True) as name, \
                KubernetesApi() as api:
            folder = Path(name)
            guide.run(self.block, folder, self.variables(folder, api, "cluster", "executor-tcp.yaml"), LIMIT_SECONDS)
            driver, = api.pods("driver")
            self.assertEqual([], api.refusals)
            policy, = [each for each in api.objects.values() if each.get("kind") == "NetworkPolicy"]
            self.assertEqual(
                {"spark-role": "executor", "spark-app-selector": driver["metadata"]["labels"]["spark-app-selector"]},
                policy["spec"]["podSelector"]["matchLabels"])
            self.keep("cluster", api.objects.values())
            self.assertEqual("spark", driver["spec"]["serviceAccountName"])
            self.assertIn("local:///opt/spark/work-dir/job.py", self.container(driver)["args"])
            maps = json.dumps([each for each in api.objects.values() if each.get("kind") == "ConfigMap"])
            for setting in ("spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager", "spark.sluice.mode=UCX",
                            "spark.executor.memoryOverhead=3g"):
                self.assertIn(setting, maps)
            self.assertIn("shared-memory", maps, "the executors' template is not in a ConfigMap")
        self.assert_api_takes_what_was_sent()

    def test_a_submission_needs_the_right_to_make_network_policies(self):
        without = ACCOUNT.read_text(encoding="utf-8").replace("[networkpolicies]", "[ingresses]")
        with tempfile.TemporaryDirectory(prefix="kubernetes-run-", dir=BUILD, ignore_cleanup_errors=True) as name, \
                KubernetesApi(Rights.of_account(without)) as api:
            folder = Path(name)
            with self.assertRaisesRegex(AssertionError, "networkpolicies.*is forbidden"):
                guide.run(self.block, folder, self.variables(folder, api, "cluster", "executor-tcp.yaml"),
                          LIMIT_SECONDS)

    def assert_api_takes_what_was_sent(self):
        if shutil.which("go") is None:
            self.skipTest("no go, by which the API's types come")
        files = sorted(map(str, self.sent.glob("*.json")))
        done = subprocess.run(["go", "run", ".", *files], cwd=CHECKER, timeout=1200, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(0, done.returncode, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
