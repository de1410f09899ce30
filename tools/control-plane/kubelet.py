"""A stand-in for a node's kubelet: runs the pods of an API server as processes of this machine.

    API server <-- lists pods, writes their states -- NodesOfThisMachine --> a process for each pod

A pod gets what decides how a program of Spark runs: environment, arguments, volumes (config maps, empty folders, the
account's token), an address of loopback (127.77.0.0/16), names of services without an address of their own, a root of
its own, namespaces for mounts, processes, System V's memory and host names. It does not get: another user, limits of
memory and processors, a network of its own, probes, restarts, several containers; a pod that has several is refused.

The "image" is this machine: its programs and libraries, and a folder that is the pod's /opt.
"""

import contextlib
import datetime
import http.client
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

from control_plane import Refused, ended_with_parent, last_line
from exec_server import ExecServer, piped

POLL_SECONDS = 0.3
# What `terminationGracePeriodSeconds` is where a pod does not say it.
GRACE_SECONDS = 30
# Of the machine's root, what a pod has afresh.
OWN_FOLDERS = {"opt", "var", "run", "tmp", "proc", "lost+found", "boot"}
NAMESPACES = ["--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc"]


class Unsupported(Exception):
    """What a pod asks for and this stand-in does not do."""


class NotYet(Exception):
    """What a pod needs is not there yet."""


def unshare(*command):
    """The command in namespaces of its own; for who is not root, in a user namespace besides."""
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), *NAMESPACES, "--", *command]


def obstacle(folder):
    """What keeps this machine from running pods, tried in this folder; nothing if it can."""
    root = folder / "root"
    root.mkdir()
    script = "\n".join([*root_script(root, {}), f"exec chroot {shlex.quote(str(root))} /bin/true"])
    try:
        done = subprocess.run(unshare("bash", "-euc", script), timeout=60, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError:
        return "no unshare"
    return "" if done.returncode == 0 else f"pods need namespaces: {last_line(done.stdout)}"


def root_script(root, shared):
    """Commands that make a root in an empty folder: this machine's, without OWN_FOLDERS. `shared` are folders that are
    there besides: the place in the new root -> where it is on this machine."""
    place = shlex.quote(str(root))
    yield "mount --make-rprivate /"
    yield f"mount -t tmpfs -o mode=755 root {place}"
    for entry in sorted(Path("/").iterdir()):
        target = shlex.quote(f"{root}/{entry.name}")
        if entry.is_symlink():
            yield f"ln -s {shlex.quote(os.readlink(entry))} {target}"
        elif entry.is_dir() and entry.name not in OWN_FOLDERS:
            yield f"mkdir {target} && mount --rbind {shlex.quote(str(entry))} {target}"
    yield f"mkdir {place}/proc && mount -t proc proc {place}/proc"
    yield f"for each in opt var run tmp; do mkdir {place}/$each; done"
    yield f"chmod 1777 {place}/tmp; ln -s ../run {place}/var/run"
    for inside, outside in shared.items():
        target = shlex.quote(f"{root}{inside}")
        make = "mkdir -p" if Path(outside).is_dir() else 'install -D /dev/null'
        yield f"[ -e {target} ] || {make} {target}"
        yield f"mount --rbind {shlex.quote(str(outside))} {target}"


class Pod:
    """A pod's process, and what it was made of."""

    def __init__(self, pod, address, folder):
        self.pod, self.address, self.folder = pod, address, folder
        self.name = pod["metadata"]["name"]
        self.process = None
        self.variables = None  # of its process
        self.must_end = None  # when its processes are killed, after they were asked to end
        self.started = None

    @property
    def container(self):
        containers = self.pod["spec"]["containers"]
        if len(containers) != 1 or self.pod["spec"].get("initContainers"):
            raise Unsupported(f"{self.name} has several containers")
        return containers[0]

    def environment(self, given):
        """The process's variables: the node's, then the pod's, with names of earlier ones in parentheses replaced."""
        found = dict(given)
        for each in self.container.get("env", []):
            if "valueFrom" in each:
                found[each["name"]] = self.field(each)
            else:
                found[each["name"]] = expanded(each.get("value") or "", found)
        return found

    def field(self, variable):
        path = variable["valueFrom"].get("fieldRef", {}).get("fieldPath")
        known = {"status.podIP": self.address, "status.hostIP": "127.0.0.1", "metadata.name": self.name,
                 "metadata.namespace": self.pod["metadata"]["namespace"], "spec.nodeName": self.pod["spec"]["nodeName"]}
        if path not in known:
            raise Unsupported(f"{self.name}: the variable {variable['name']} is from {variable['valueFrom']}")
        return known[path]

    def status(self, phase, state):
        """What the API server keeps of a pod in this phase whose container is in this state."""
        ready = phase == "Running"
        return {"status": {
            "phase": phase, "hostIP": "127.0.0.1", "podIP": self.address, "podIPs": [{"ip": self.address}],
            "startTime": self.started,
            "conditions": [{"type": kind, "status": str(ready), "lastTransitionTime": now()}
                           for kind in ("Ready", "ContainersReady")],
            "containerStatuses": [{
                "name": self.container["name"], "image": self.container["image"], "imageID": "", "restartCount": 0,
                "ready": ready, "state": state}]}}


def expanded(text, variables):
    """A value or argument as Kubernetes reads it: $(NAME) is the variable if there is one, $$ is $."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda m: "$" if m[0] == "$$" else variables.get(m[1], m[0]), text)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def register(api, name, devices=None, port=None):
    """A node that has no more than its name, room for pods, and these devices: resource -> number. At the port it
    serves commands in its pods."""
    api.request("POST", "/api/v1/nodes", {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}}})
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"} | (devices or {})
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {
        "capacity": room, "allocatable": room, "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "StandIn", "message": "runs pods",
                        "lastHeartbeatTime": now(), "lastTransitionTime": now()}],
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "declaredFeatures": ["ExtendWebSocketsToKubelet"]} if port else {})}})
    # New nodes have the taint of one that is not ready; the controller that takes it away is not running.
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": []}})


class NodesOfThisMachine:
    """Nodes whose pods run here; in the block that it is used in.

    One thread does all with the pods; `failures` are what it could not do. `variables` are the processes' beside the
    pods' own; `image` is the folder that is their /opt, and has entrypoint.sh; `shared` are folders of this machine
    that they see besides, at the same place."""

    def __init__(self, plane, names, image, variables, shared=()):
        self.plane, self.api, self.names, self.image = plane, plane.api, names, image
        self.variables, self.shared = variables, shared
        self.folder = plane.folder / "pods"
        self.failures = []
        self.pods = {}  # uid -> Pod
        self.addresses = 0
        self.stopping = threading.Event()
        self.servers = contextlib.ExitStack()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, name="kubelet", daemon=True)

    def __enter__(self):
        self.folder.mkdir()
        # Runners of tests do not end all blocks when they are interrupted.
        self.plane.stack.callback(self.__exit__)
        server = self.servers.enter_context(ExecServer(self.plane, self.start_in))
        for name in self.names:
            register(self.api, name, port=server.port)
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.stopping.set()
        self.servers.close()
        if self.thread.is_alive():
            self.thread.join(timeout=120)
        for pod in self.pods.values():
            kill(pod.process, signal.SIGKILL)
            pod.process.wait(timeout=60)
        for name in self.names:
            with contextlib.suppress(OSError, http.client.HTTPException, Refused):
                self.api.request("DELETE", f"/api/v1/nodes/{name}")

    def kill(self, name):
        """Ends a pod's processes as the kernel does for want of memory."""
        with self.lock:
            pod, = [each for each in self.pods.values() if each.name == name]
            kill(pod.process, signal.SIGKILL)

    def start_in(self, namespace, name, command):
        """Starts a command beside a pod's process, in its namespaces and with its variables; LookupError if there is
        none."""
        with self.lock:
            running = {(each.pod["metadata"]["namespace"], each.name): each for each in self.pods.values()
                       if each.process.poll() is None}
            pod = running[namespace, name]
            first = Path(f"/proc/{pod.process.pid}/task/{pod.process.pid}/children").read_text().split()[0]
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return piped(["nsenter", "--target", first, *user, "--mount", "--pid", "--uts", "--ipc", "--root", "--wd", "--",
                      *command], pod.variables)

    def logs(self):
        """What each pod has printed."""
        return {file.stem: file.read_text(encoding="utf-8", errors="replace")
                for file in sorted(self.folder.glob("*/*.log"))}

    def _run(self):
        while not self.stopping.wait(POLL_SECONDS):
            try:
                with self.lock:
                    self._turn()
            except (OSError, http.client.HTTPException, Refused) as e:
                # Objects go while they are looked at, and a loaded API server answers late.
                if not (isinstance(e, Refused) and e.status in (404, 409)):
                    self.failures.append(f"{type(e).__name__}: {e}")

    def _turn(self):
        listed = {pod["metadata"]["uid"]: pod for pod in self.api.list("/api/v1/pods")
                  if pod["spec"].get("nodeName") in self.names}
        self._write_hosts(listed)
        for uid, pod in listed.items():
            if uid not in self.pods and pod["status"]["phase"] == "Pending":
                self._admit(uid, pod)
            elif uid in self.pods:
                self._look_after(self.pods[uid], pod)
        for uid in set(self.pods) - set(listed):  # deleted at once, without being asked to end
            kill(self.pods.pop(uid).process, signal.SIGKILL)

    def _admit(self, uid, pod):
        if pod["metadata"].get("deletionTimestamp"):
            self._delete(pod)
            return
        folder = self.folder / uid
        folder.mkdir(exist_ok=True)
        made = Pod(pod, self._address(uid, folder), folder)
        try:
            self._start(made)
        except NotYet:
            return
        except Unsupported as e:
            self.failures.append(str(e))
            made.started = now()
            self._report(made, "Failed", {"terminated": {"exitCode": 128, "reason": "StartError", "message": str(e)}})
            return
        self.pods[uid] = made
        self._report(made, "Running", {"running": {"startedAt": made.started}})

    def _address(self, uid, folder):
        """An address for each pod, the same when it is tried again."""
        file = folder / "address"
        if not file.exists():
            self.addresses += 1
            file.write_text(f"127.77.{self.addresses // 250}.{self.addresses % 250 + 1}")
        return file.read_text()

    def _start(self, made):
        container = made.container
        volumes = {volume["name"]: volume for volume in made.pod["spec"].get("volumes", [])}
        shared = {str(folder): folder for folder in self.shared} | {"/opt": self.image}
        memory = {}
        for mount in container.get("volumeMounts", []):
            volume = volumes[mount["name"]]
            if volume.get("emptyDir", {}).get("medium") == "Memory":
                memory[mount["mountPath"]] = size_in_bytes(volume["emptyDir"].get("sizeLimit", "1Gi"))
            else:
                shared[mount["mountPath"]] = self._folder_of(made, volume, mount.get("subPath"))
        hosts = made.folder / "hosts"
        hosts.touch()
        self._write_hosts_of(made, self._services())
        shared["/etc/hosts"] = hosts
        environment = made.environment(self.variables | {
            "HOSTNAME": made.name, "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.plane.port)})
        arguments = [expanded(each, environment) for each in container.get("args", [])]
        if container.get("command"):
            raise Unsupported(f"{made.name} has a command of its own")
        root = made.folder / "root"
        root.mkdir(exist_ok=True)
        lines = list(root_script(root, shared))
        for place, limit in memory.items():
            target = shlex.quote(f"{root}{place}")
            lines.append(f"mkdir -p {target} && mount -t tmpfs -o mode=1777,size={limit} memory {target}")
        lines.append(f"hostname {shlex.quote(made.name[-63:].strip('-.'))}")
        lines.append(shlex.join(["exec", "chroot", str(root), "/opt/entrypoint.sh", *arguments]))
        with open(made.folder / f"{made.name}.log", "wb") as log:
            made.process = subprocess.Popen(
                ended_with_parent(unshare("bash", "-euc", "\n".join(lines))), cwd="/", env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        made.started = now()
        made.variables = environment

    def _folder_of(self, made, volume, part):
        """The folder, or with `part` the file, of a volume that is not memory."""
        folder = made.folder / "volumes" / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        namespace = made.pod["metadata"]["namespace"]
        if "configMap" in volume:
            self._write_map(folder, namespace, volume["configMap"])
        elif "projected" in volume:
            for source in volume["projected"]["sources"]:
                self._write_source(folder, made, source)
        elif "emptyDir" not in volume:
            raise Unsupported(f"{made.name} has a volume of another kind: {volume}")
        else:
            folder.chmod(0o777)
        return folder / part if part else folder

    def _write_map(self, folder, namespace, wanted):
        try:
            found = self.api.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{wanted['name']}")
        except Refused as e:
            if e.status == 404:
                raise NotYet(wanted["name"]) from e
            raise
        data = found.get("data", {})
        for item in wanted.get("items") or [{"key": key, "path": key} for key in data]:
            (folder / item["path"]).write_text(data[item["key"]], encoding="utf-8")

    def _write_source(self, folder, made, source):
        namespace = made.pod["metadata"]["namespace"]
        if "configMap" in source:
            self._write_map(folder, namespace, source["configMap"])
        elif "serviceAccountToken" in source:
            account = self.plane.account(namespace, made.pod["spec"]["serviceAccountName"])
            (folder / source["serviceAccountToken"]["path"]).write_text(account.token)
        elif "downwardAPI" in source:
            for item in source["downwardAPI"]["items"]:
                (folder / item["path"]).write_text(
                    made.field({"name": item["path"], "valueFrom": {"fieldRef": item["fieldRef"]}}))
        else:
            raise Unsupported(f"{made.name} has a volume from another source: {source}")

    def _look_after(self, made, pod):
        ended = made.process.poll()
        leaving = pod["metadata"].get("deletionTimestamp") is not None
        if leaving and ended is None:
            if made.must_end is None:
                grace = pod["metadata"].get("deletionGracePeriodSeconds", GRACE_SECONDS)
                made.must_end = time.monotonic() + grace
                kill(made.process, signal.SIGTERM)
            elif time.monotonic() > made.must_end:
                kill(made.process, signal.SIGKILL)
        elif leaving:
            self._delete(pod)
        elif ended is None:
            if pod["status"]["phase"] == "Pending":  # it was not heard
                self._report(made, "Running", {"running": {"startedAt": made.started}})
        elif pod["status"]["phase"] in ("Pending", "Running"):
            code = ended if ended >= 0 else 128 - ended
            self._report(made, "Succeeded" if code == 0 else "Failed", {"terminated": {
                "exitCode": code, "reason": "Completed" if code == 0 else "Error", "startedAt": made.started,
                "finishedAt": now()}})

    def _delete(self, pod):
        metadata = pod["metadata"]
        self.api.request("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}",
                         {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                          "preconditions": {"uid": metadata["uid"]}})

    def _report(self, made, phase, state):
        path = f"/api/v1/namespaces/{made.pod['metadata']['namespace']}/pods/{made.name}/status"
        self.api.patch(path, made.status(phase, state))

    def _services(self):
        """Services that are a name for pods' addresses: (name, namespace, selector)."""
        return [(each["metadata"]["name"], each["metadata"]["namespace"], each["spec"]["selector"])
                for each in self.api.list("/api/v1/services")
                if each["spec"].get("clusterIP") == "None" and each["spec"].get("selector")]

    def _write_hosts(self, listed):
        if self.pods:
            services = self._services()
            for made in self.pods.values():
                self._write_hosts_of(made, services)

    def _write_hosts_of(self, made, services):
        """A pod's /etc/hosts: itself, the API server, and services by the pods that they select."""
        lines = ["127.0.0.1 localhost kubernetes.default.svc", f"{made.address} {made.name}"]
        for name, namespace, selector in services:
            lines += [f"{each.address} {name}.{namespace}.svc {name}" for each in [*self.pods.values(), made]
                      if each.pod["metadata"]["namespace"] == namespace
                      and selector.items() <= each.pod["metadata"].get("labels", {}).items()]
        text = "\n".join(dict.fromkeys(lines)) + "\n"
        file = made.folder / "hosts"
        # The pod's is a mount of this file, so it must stay the same file.
        if file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def size_in_bytes(quantity):
    number, unit = re.fullmatch(r"(\d+)(|Ki|Mi|Gi)", quantity).groups()
    return int(number) << {"": 0, "Ki": 10, "Mi": 20, "Gi": 30}[unit]


def kill(process, number):
    """A signal for all processes of a pod that runs."""
    if process is not None and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
