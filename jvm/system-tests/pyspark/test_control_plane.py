"""docs/deployment/kubernetes.md on a real control plane of Kubernetes (tools/control-plane), as it is printed: the
files are applied, the command submits with the rights of account.yaml and no others, and its pods run as processes of
this machine, by a stand-in for a node."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import guide
from test_pyspark import BUILD, HERE, environment, in_all, recommended_arguments
from test_servers import REGISTERED
from test_standalone import one_sided_blocks, running

TOOLS = guide.ROOT / "tools" / "control-plane"
sys.path.insert(0, str(TOOLS))

import kubelet  # noqa: E402
from control_plane import (  # noqa: E402
    Api, ControlPlane, Refused, answers, await_true, prepare, remove_folders_of_the_dead)
from exec_server import ExecServer  # noqa: E402

FILES = guide.GUIDES / "kubernetes"
TEMPLATES = ("executor-tcp.yaml", "executor-rdma-host-network.yaml", "executor-rdma-sriov.yaml")
LIMIT_SECONDS = 900
KUBEFLOW = "github.com/kubeflow/spark-operator/v2"
# A folder with definitions (CRDs) that no registry of packages has, as NAME.yaml.
DEFINITIONS = os.environ.get("SLUICE_DEFINITIONS")
ACCOUNT = "system:serviceaccount:spark:spark"


def kubeflows_module():
    """The folder of the operator's module: its definitions and its chart."""
    done = subprocess.run(["go", "mod", "download", "-json", KUBEFLOW], cwd=TOOLS / "operator", timeout=LIMIT_SECONDS,
                          text=True, stdout=subprocess.PIPE, check=True)
    return Path(json.loads(done.stdout)["Dir"])


def rights_of_kubeflows_chart(module):
    """A role for the namespace spark with the rules that the chart gives the operator there."""
    text = (module / "charts/spark-operator-chart/templates/controller/_helpers.tpl").read_text(encoding="utf-8")
    rules = re.search(r'define "spark-operator\.controller\.policyRules" -}}\n(.*?)\n{{', text, re.DOTALL)[1]
    return ("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n"
            f"  name: spark-operator-controller\n  namespace: spark\nrules:\n{rules}\n")


def definition_of(kind):
    """The file of SLUICE_DEFINITIONS that defines a kind, as plural.group; None if there is none."""
    for file in sorted(Path(DEFINITIONS).glob("*.yaml")) if DEFINITIONS else ():
        if f"\n  name: {kind}\n" in file.read_text(encoding="utf-8"):
            return file
    return None


@in_all
class ControlPlaneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        blocks = guide.commands("docs/deployment/kubernetes.md", "test_control_plane")
        cls.account_block, cls.submit, cls.kubeflow, cls.kubeflows_rights, cls.apache, cls.doctor = blocks
        BUILD.mkdir(exist_ok=True)
        cls.plane = ControlPlane().__enter__()
        cls.addClassCleanup(cls.plane.__exit__)
        cls.apply(cls.account_block)

    @classmethod
    def apply(cls, block):
        """A block of the guide, as the administrator."""
        return guide.run(block, FILES, cls.plane.variables(cls.plane.kubeconfig()), LIMIT_SECONDS)

    def define(self, file, name):
        self.plane.kubectl("apply", "--server-side", "-f", file)
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"

        def established():
            conditions = self.plane.api.request("GET", path).get("status", {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
        await_true(lambda: f"{name} is not established", established, LIMIT_SECONDS)

    # --- The files -----------------------------------------------------------------------------------------------

    def test_account_and_policy_are_there(self):
        found = self.plane.kubectl("get", "serviceaccount,role,rolebinding,networkpolicy", "-n", "spark", "-o", "name")
        for each in ("serviceaccount/spark", "role.rbac.authorization.k8s.io/spark",
                     "rolebinding.rbac.authorization.k8s.io/spark", "networkpolicy.networking.k8s.io/sluice-executors"):
            self.assertIn(each, found.split())
        self.plane.kubectl("apply", "-f", FILES / "rdma-shared-devices.yaml")

    def test_the_account_may_do_no_more_than_its_role_says(self):
        spark = self.plane.account("spark", "spark")
        self.assertEqual([], spark.list("/api/v1/namespaces/spark/pods"))
        for path in ("/api/v1/namespaces/default/pods", "/api/v1/namespaces/spark/secrets", "/api/v1/nodes"):
            with self.assertRaisesRegex(Refused, f"403: .*{ACCOUNT}"):
                spark.request("GET", path)

    def test_nobody_is_answered_without_token_or_certificate(self):
        """So that tests that run as root lend root's rights to no other user of the machine."""
        with self.assertRaisesRegex(Refused, "401"):
            Api(self.plane.port, self.plane.authority, "wrong").request("GET", "/api/v1/pods")
        context = ssl.create_default_context(cafile=str(self.plane.authority))
        self.assertFalse(answers(self.plane.etcd_port, context, "/health"))
        started = []
        with ExecServer(self.plane, lambda *asked: started.append(asked)) as server:
            self.assertFalse(answers(server.port, context, "/exec/spark/pod/executor?command=true"))
        self.assertEqual([], started)

    def pod(self, template, name):
        """The pod of a template, with what Spark adds before it sends it: a name and an image."""
        added = {"metadata": {"name": name, "namespace": "spark"},
                 "spec": {"containers": [{"name": "executor", "image": "registry.example/spark-sluice:ubuntu"}]}}
        return self.plane.kubectl("patch", "--local", "-f", FILES / template, "--type=strategic", "-o", "json",
                                  "-p", json.dumps(added))

    def test_templates_are_pods(self):
        for template in TEMPLATES:
            with self.subTest(template):
                pod = self.pod(template, "executor")
                self.plane.kubectl("create", "--validate=strict", "--dry-run=server", "-f", "-", given=pod)
                with self.assertRaisesRegex(Refused, 'unknown field "spec.containers.0..volumeMounts.0..path"'):
                    self.plane.kubectl("create", "--validate=strict", "--dry-run=server", "-f", "-",
                                       given=pod.replace('"mountPath"', '"path"'))

    def test_damaged_files_are_refused(self):
        damages = (("account.yaml", "    verbs: [create, get, patch, delete]", "    verb: [create]", "unknown field"),
                   ("account.yaml", "  kind: Role\n", "  kind: Roles\n", "(?i)unsupported value|cannot change roleRef"),
                   ("network-policy.yaml", "policyTypes: [Ingress]", "policyTypes: [Inward]", "(?i)unsupported value"),
                   ("network-policy.yaml", "  podSelector:\n    matchLabels", "  podSelector:\n    labels",
                    "unknown field"))
        for file, old, new, complaint in damages:
            with self.subTest(new):
                text = (FILES / file).read_text(encoding="utf-8")
                self.assertEqual(1, text.count(old))
                with self.assertRaisesRegex(Refused, complaint):
                    self.plane.kubectl("apply", "--dry-run=server", "-f", "-", given=text.replace(old, new))

    def test_application_of_kubeflows_operator(self):
        self.define_kubeflows()
        self.assertIn("sluice-job created", self.apply(self.kubeflow))
        self.plane.kubectl("delete", "-f", FILES / "spark-application.yaml")
        text = (FILES / "spark-application.yaml").read_text(encoding="utf-8")
        for old, new, complaint in (("  mode: cluster", "  modes: cluster", "unknown field"),
                                    ("  mode: cluster", "  mode: clusters", "(?i)unsupported value"),
                                    ("    instances: 4", "    instances: many", "must be of type integer")):
            with self.subTest(new), self.assertRaisesRegex(Refused, complaint):
                self.plane.kubectl("apply", "--dry-run=server", "-f", "-", given=text.replace(old, new))

    def define_kubeflows(self):
        definitions = kubeflows_module() / "config/crd/bases"
        for kind in ("sparkapplications", "scheduledsparkapplications", "sparkconnects"):
            self.define(definitions / f"sparkoperator.k8s.io_{kind}.yaml", f"{kind}.sparkoperator.k8s.io")

    @contextlib.contextmanager
    def kubeflows_operator(self):
        """The operator, with the account and the rights that its chart gives it; yields its log."""
        self.define_kubeflows()
        self.plane.kubectl("create", "namespace", "spark-operator")
        self.plane.kubectl("create", "serviceaccount", "spark-operator-controller", "-n", "spark-operator")
        self.plane.kubectl("apply", "-f", "-", given=rights_of_kubeflows_chart(kubeflows_module()))
        self.plane.kubectl("create", "rolebinding", "spark-operator-controller", "-n", "spark",
                           "--role=spark-operator-controller",
                           "--serviceaccount=spark-operator:spark-operator-controller")
        token = self.plane.account("spark-operator", "spark-operator-controller").token
        import pyspark
        variables = environment() | {
            "KUBECONFIG": str(self.plane.kubeconfig("operator", token, "spark-operator")),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.plane.port),
            "SPARK_HOME": pyspark.__path__[0]}
        command = shlex.join([str(self.plane.programs / "spark-operator"), "controller", "start", "--namespaces=spark",
                              "--health-probe-bind-address=0", "--zap-log-level=info"])
        with running(command, self.plane.folder, "operator", variables) as log:
            yield log

    def test_kubeflows_operator_submits_our_application(self):
        path = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/sparkapplications/sluice-job"
        with self.kubeflows_operator() as log:
            def said():
                return log.read_text(encoding="utf-8")[-6000:]

            def state():
                return self.plane.api.request("GET", path).get("status", {}).get("applicationState", {})
            self.apply(self.kubeflow)
            await_true(said, lambda: state().get("state") == "FAILED", LIMIT_SECONDS)
            self.assertRegex(state()["errorMessage"], r"networkpolicies\.networking\.k8s\.io .* is forbidden")
            self.plane.kubectl("delete", "-f", FILES / "spark-application.yaml")
            self.apply(self.kubeflows_rights)
            self.apply(self.kubeflow)
            await_true(said, lambda: state().get("state") == "SUBMITTED", LIMIT_SECONDS)
            driver, = self.pods_with("spark-role=driver")
            self.assert_settings_are_the_files(driver)
            self.plane.kubectl("delete", "-f", FILES / "spark-application.yaml")
            # That an application owns its driver is said by the operator's webhook, which does not run here.
            self.plane.kubectl("delete", "pod", driver, "-n", "spark", "--force", "--grace-period=0")

    def assert_settings_are_the_files(self, driver):
        pod = self.plane.api.request("GET", f"/api/v1/namespaces/spark/pods/{driver}")
        self.assertEqual("spark", pod["spec"]["serviceAccountName"])
        self.assertEqual("registry.example/spark-sluice:ubuntu", pod["spec"]["containers"][0]["image"])
        maps = json.dumps([each["data"] for each in self.plane.api.list("/api/v1/namespaces/spark/configmaps")
                           if each["metadata"]["name"] in self.made_for(driver)])
        for setting in ("spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager", "spark.sluice.mode=UCX",
                        "spark.executor.memoryOverhead=3g", "spark.executor.memory=8g"):
            self.assertIn(setting, maps)
        self.assertIn("shared-memory", maps, "the executors' template is not in a ConfigMap")

    def of_other_projects(self, kinds, apply):
        """Applies a file of kinds whose definitions are in no registry of packages, if SLUICE_DEFINITIONS has them."""
        files = {kind: definition_of(kind) for kind in kinds}
        missing = sorted(kind for kind, file in files.items() if file is None)
        if missing:
            with self.assertRaisesRegex((Refused, AssertionError), "no matches for kind"):
                apply()
            self.skipTest(f"no definition of {', '.join(missing)}; SLUICE_DEFINITIONS=FOLDER names a folder with them")
        for kind, file in files.items():
            self.define(file, kind)
        return apply()

    def test_application_of_apaches_operator(self):
        self.assertIn("sluice-job created", self.of_other_projects(
            ["sparkapplications.spark.apache.org"], lambda: self.apply(self.apache)))

    def test_network_of_virtual_functions(self):
        self.plane.kubectl("create", "namespace", "sriov-network-operator")
        printed = self.of_other_projects(
            ["sriovnetworknodepolicies.sriovnetwork.openshift.io", "network-attachment-definitions.k8s.cni.cncf.io"],
            lambda: self.plane.kubectl("apply", "-f", FILES / "sriov-network.yaml"))
        self.assertEqual(2, printed.count("sluice-rdma created"))

    # --- Where pods go -------------------------------------------------------------------------------------------

    def place_of(self, name):
        """The node of a pod, or why it has none; empty until the scheduler has said so."""
        pod = self.plane.api.request("GET", f"/api/v1/namespaces/spark/pods/{name}")
        refusals = [each["message"] for each in pod.get("status", {}).get("conditions", [])
                    if each["type"] == "PodScheduled" and each["status"] == "False"]
        return pod["spec"].get("nodeName") or "".join(refusals)

    def test_executors_with_the_nodes_network_go_to_nodes_of_their_own(self):
        """Executors of two jobs, too: who is where goes by the template's label."""
        for name, devices in (("plain", {}), ("rdma-1", {"rdma/hca": "16"}), ("rdma-2", {"rdma/hca": "16"})):
            kubelet.register(self.plane.api, name, devices)
            self.addCleanup(self.plane.kubectl, "delete", "node", name)
        self.addCleanup(self.plane.kubectl, "delete", "pods", "--all", "-n", "spark", "--force", "--grace-period=0")
        for name in ("first", "second", "third"):
            self.plane.kubectl("create", "-f", "-", given=self.pod("executor-rdma-host-network.yaml", name))

        def places():
            return sorted(self.place_of(name) for name in ("first", "second", "third"))

        def said():
            return f"{places()}\n{self.plane.log_end('kube-scheduler')}"
        # It may look before it knows the nodes.
        await_true(said, lambda: places()[1:] == ["rdma-1", "rdma-2"], LIMIT_SECONDS)
        refusal = "1 Insufficient rdma/hca, 2 node(s) didn't match pod anti-affinity rules"
        await_true(said, lambda: refusal in places()[0], LIMIT_SECONDS)

    # --- A job ---------------------------------------------------------------------------------------------------

    def variables(self, folder, settings):
        """Of a user who submits with the rights of account.yaml."""
        conf = folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        token = self.plane.account("spark", "spark").token
        kubeconfig = self.plane.kubeconfig("spark", token, "spark")
        return environment() | {
            "PATH": guide.path_with(Path(sys.executable).parent), "SPARK_CONF_DIR": str(conf),
            "KUBECONFIG": str(kubeconfig), "KUBERNETES": self.plane.url,
            "IMAGE": "registry.example/spark-sluice:ubuntu", "TEMPLATE": str(FILES / "executor-tcp.yaml"),
            "APPLICATION": "local:///opt/spark/work-dir/kubernetes_job.py"}

    def test_a_submission_needs_the_right_to_make_network_policies(self):
        without = (FILES / "account.yaml").read_text(encoding="utf-8").replace("[networkpolicies]", "[ingresses]")
        self.plane.kubectl("apply", "-f", "-", given=without)
        self.addCleanup(self.apply, self.account_block)
        with tempfile.TemporaryDirectory(prefix="control-plane-submission-", dir=BUILD) as name:
            folder = Path(name)
            with self.assertRaisesRegex(
                    AssertionError, rf'networkpolicies\.networking\.k8s\.io .* is forbidden: User "{ACCOUNT}" cannot'):
                guide.run(self.submit, folder, self.variables(folder, {}), LIMIT_SECONDS)
        # The guide quotes the answer.
        self.assertIn("networkpolicies.networking.k8s.io … is forbidden", (
            guide.GUIDES / "kubernetes.md").read_text(encoding="utf-8"))

    def test_executors_of_each_template_are_taken(self):
        """The pods that a driver in this process's place makes of settings and templates, by the same account."""
        for template in TEMPLATES:
            with self.subTest(template), tempfile.TemporaryDirectory(
                    prefix="control-plane-client-", dir=BUILD, ignore_cleanup_errors=True) as name:
                self.assert_executors_are_taken(Path(name), template)

    def assert_executors_are_taken(self, folder, template):
        earlier = len(list(self.plane.audited()))
        arguments = recommended_arguments()
        variables = self.variables(folder, {
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.driver.extraClassPath": arguments[arguments.index("--jars") + 1]})
        variables |= {"DEPLOY_MODE": "client", "TEMPLATE": str(FILES / template),
                      "APPLICATION": str(HERE / "waiting_job.py")}
        self.addCleanup(self.plane.kubectl, "delete", "pods", "--all", "-n", "spark", "--force", "--grace-period=0")
        with running(self.submit, folder, "submit", variables) as log:
            await_true(lambda: log.read_text(encoding="utf-8")[-6000:],
                       lambda: len(self.pods_with("spark-role=executor")) == 2, LIMIT_SECONDS)
        self.plane.kubectl("delete", "pods", "--all", "-n", "spark", "--force", "--grace-period=0")
        self.assert_nothing_was_refused(earlier)

    def image(self, folder):
        """What an image for Spark has in /opt, of this PySpark and the jar."""
        import pyspark
        opt, home = folder / "opt", Path(pyspark.__path__[0])
        spark = opt / "spark"
        (spark / "jars").mkdir(parents=True)
        (spark / "work-dir").mkdir()
        for each in ("bin", "sbin", "python"):
            (spark / each).symlink_to(home / each)
        arguments = recommended_arguments()
        for jar in [*home.glob("jars/*.jar"), Path(arguments[arguments.index("--jars") + 1])]:
            (spark / "jars" / jar.name).symlink_to(jar)
        shutil.copy(TOOLS / "entrypoint.sh", opt)
        shutil.copy(HERE / "kubernetes_job.py", spark / "work-dir")
        return opt

    def stock_report(self, folder):
        """What the job gives on Spark's own shuffle."""
        report = folder / "stock.json"
        subprocess.run(
            [Path(sys.executable).with_name("spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false",
             "--conf", "spark.sql.shuffle.partitions=6", HERE / "kubernetes_job.py"],
            cwd=folder, env=environment() | {"JOB_REPORT": str(report)}, timeout=LIMIT_SECONDS, check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(report.read_text())

    def node(self, folder):
        """A node of this machine. What pods need of folders that they have afresh is shared with them."""
        java_home = os.environ.get("JAVA_HOME")
        shared = {guide.ROOT, Path(sys.prefix), Path(sys.base_prefix), *([Path(java_home)] if java_home else [])}
        variables = {"PATH": os.environ["PATH"], "SPARK_HOME": "/opt/spark", "PYSPARK_PYTHON": sys.executable,
                     "JDK_JAVA_OPTIONS": environment()["JDK_JAVA_OPTIONS"], "LANG": "C.UTF-8",
                     **({"JAVA_HOME": java_home} if java_home else {})}
        return kubelet.NodesOfThisMachine(
            self.plane, ["this-machine"], self.image(folder), variables,
            [each for each in shared if each.parts[1] in kubelet.OWN_FOLDERS])

    def job_settings(self, folder):
        (folder / "events").mkdir()
        return {
            "spark.kubernetes.driver.master": f"https://kubernetes.default.svc:{self.plane.port}",
            "spark.kubernetes.driverEnv.JOB_REPORT": folder / "report.json", "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": 6, "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": -1, "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false", "spark.eventLog.dir": (folder / "events").as_uri(),
            # What the executors read one-sidedly they must not find in each other's folders.
            "spark.shuffle.readHostLocalDisk": "false"}

    def events(self, folder):
        return [json.loads(line) for file in sorted((folder / "events").rglob("*")) if file.is_file()
                for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{")]

    def test_job_in_cluster_mode_loses_an_executor(self):
        with tempfile.TemporaryDirectory(prefix="control-plane-job-", dir=BUILD, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            reason = kubelet.obstacle(folder)
            if reason:
                self.skipTest(reason)
            stock = self.stock_report(folder)
            earlier = len(list(self.plane.audited()))
            variables = self.variables(folder, self.job_settings(folder))
            with self.node(folder) as node:
                pods = self.run_job(folder, variables, node)
                self.assertEqual([], node.failures)
                self.assert_driver_owned_all(pods)
            self.assertEqual(stock, json.loads((folder / "report.json").read_text()))
            events = self.events(folder)
            self.assertGreaterEqual([event["Event"] for event in events].count(REGISTERED), 4)
            self.assertGreater(one_sided_blocks(events), 0)
        self.assert_rights_were_enough(earlier)

    def run_job(self, folder, variables, node):
        """Runs the guide's command and kills an executor when the job waits for that; the names of all pods."""
        with running(self.submit, folder, "submit", variables) as log:
            def said():
                found = {**node.logs(), "spark-submit": log.read_text(encoding="utf-8")}
                return "\n".join(f"--- {name}:\n{text[-5000:]}" for name, text in found.items()) + "\n".join(
                    node.failures)
            await_true(said, (folder / "report.json.ready").exists, LIMIT_SECONDS)
            first = self.pods_with("spark-role=executor")
            self.assertEqual(2, len(first))
            self.assert_doctor_sees(first[1])
            node.kill(first[0])
            await_true(said, (folder / "report.json").exists, LIMIT_SECONDS)
            driver, = self.pods_with("spark-role=driver")
            await_true(said, lambda: self.phase(driver) in ("Succeeded", "Failed"), LIMIT_SECONDS)
            self.assertEqual("Succeeded", self.phase(driver), said())
            await_true(said, lambda: "Container final statuses" in log.read_text(encoding="utf-8"), LIMIT_SECONDS)
            self.assertIn("exit code: 0", log.read_text(encoding="utf-8"))
        names = set(node.logs())
        self.assertEqual(4, len(names), f"a driver, two executors, and one in place of {first[0]}: {names}")
        await_true(said, lambda: self.pods_with("spark-role=executor") == [], LIMIT_SECONDS)
        return driver

    def assert_doctor_sees(self, pod):
        """The guide's command in a pod that runs: it is one of Kubernetes', and its /dev/shm the template's."""
        variables = self.plane.variables(self.plane.kubeconfig()) | {"POD": pod}
        printed = guide.run(self.doctor, FILES, variables, LIMIT_SECONDS)
        for line in ("in a container \\(Kubernetes\\)", "/dev/shm has 64 MiB", "Usable on this machine: UCX"):
            self.assertRegex(printed, line)
        with self.assertRaisesRegex(Refused, "exit code 3"):
            self.plane.kubectl("exec", "-n", "spark", pod, "--", "sh", "-c", "exit 3")

    def pods_with(self, label):
        return sorted(pod["metadata"]["name"] for pod in self.plane.api.list(
            f"/api/v1/namespaces/spark/pods?labelSelector={label}"))

    def phase(self, pod):
        return self.plane.api.request("GET", f"/api/v1/namespaces/spark/pods/{pod}")["status"]["phase"]

    def made_for(self, driver):
        """The objects that a driver's pod owns."""
        kinds = ("/api/v1/namespaces/spark/services", "/api/v1/namespaces/spark/configmaps",
                 "/apis/networking.k8s.io/v1/namespaces/spark/networkpolicies")
        return sorted(each["metadata"]["name"] for kind in kinds for each in self.plane.api.list(kind)
                      if driver in [owner["name"] for owner in each["metadata"].get("ownerReferences", [])])

    def assert_driver_owned_all(self, driver):
        """Its service, config maps and policy go with the pod."""
        self.assertGreaterEqual(len(self.made_for(driver)), 3, self.made_for(driver))
        self.plane.kubectl("delete", "pod", driver, "-n", "spark", "--timeout=120s")
        await_true(lambda: f"left: {self.made_for(driver)}", lambda: self.made_for(driver) == [], LIMIT_SECONDS)

    def assert_nothing_was_refused(self, earlier):
        """Of the account's requests after the `earlier` first ones of all; returns their events."""
        events = [event for event in list(self.plane.audited())[earlier:] if event["user"]["username"] == ACCOUNT]
        self.assertEqual([], [event["requestURI"] for event in events
                              if event["responseStatus"]["code"] in (400, 403, 422)])
        return events

    def assert_rights_were_enough(self, earlier):
        """The same, and objects of all kinds were made."""
        events = self.assert_nothing_was_refused(earlier)
        made = {event["objectRef"]["resource"] for event in events if event["responseStatus"]["code"] == 201}
        self.assertLessEqual({"pods", "services", "configmaps", "networkpolicies"}, made)


@in_all
class EndTest(unittest.TestCase):
    """Nothing stays of a control plane whose program ends before it does."""

    def start(self):
        program = subprocess.Popen([sys.executable, TOOLS / "control_plane.py"], text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait, 60)
        self.addCleanup(program.kill)
        folder = Path(program.stdout.readline().strip().removeprefix("export KUBECONFIG=")).parent
        self.assertGreaterEqual(len(self.processes(folder)), 4, folder)
        return program, folder

    def processes(self, folder):
        """The processes that have this folder among their arguments."""
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(folder).encode() in file.read_bytes():
                    found.append(file.parent.name)
            except OSError:  # it has just ended
                pass
        return found

    def assert_gone(self, folder):
        end = time.monotonic() + 60
        while self.processes(folder) and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual([], self.processes(folder))

    def test_interrupted(self):
        program, folder = self.start()
        program.send_signal(signal.SIGINT)
        self.assertEqual(0, program.wait(timeout=LIMIT_SECONDS))
        self.assert_gone(folder)
        self.assertFalse(folder.exists())

    def test_killed(self):
        if shutil.which("setpriv") is None:
            self.skipTest("no setpriv, by which the kernel ends processes whose parent is gone")
        program, folder = self.start()
        program.kill()
        program.wait(timeout=60)
        self.assert_gone(folder)
        remove_folders_of_the_dead(folder.parent)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    prepare()
    unittest.main(verbosity=2)
