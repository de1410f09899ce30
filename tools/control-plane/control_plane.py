#!/usr/bin/env python3
"""A Kubernetes control plane of one machine, for tests: etcd, the API server, controllers and the scheduler, built from
their projects' Go modules (go.mod; operator/go.mod has an operator for it), on loopback, in a folder of its own. Nodes
are not part of it: see kubelet.py.

    control_plane.py --prepare    builds the programs where they are not built: minutes to an hour of CPU, once. Exits
                                  with 77 and one line where they cannot be had
    control_plane.py              runs a control plane until it is interrupted; prints how kubectl reaches it

On the machine's loopback it answers nobody who has no token or certificate of its folder, which is its user's alone.

The programs are in build/control-plane, by what they were built of. What runs is ended, and its folder removed, when a
block `with ControlPlane()` ends, by whatever, or the program; should it be killed, the kernel ends its children (where
setpriv is), and the next control plane removes the folder.
"""

import argparse
import atexit
import base64
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
BUILD = SOURCES.parents[1] / "build" / "control-plane"
# The modules, as folders here; the packages of their programs, and the programs' names.
MODULES = {
    ".": {".": "keys", "go.etcd.io/etcd/server/v3": "etcd"} | {
        f"k8s.io/kubernetes/cmd/{name}": name
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")},
    "operator": {"github.com/kubeflow/spark-operator/v2/cmd/operator": "spark-operator"}}
BUILD_SECONDS = 3 * 3600
DOWNLOAD_SECONDS = 1800
# Of a loaded machine.
START_SECONDS = 900
STOP_SECONDS = 60
REQUEST_SECONDS = 300
COMMAND_SECONDS = 900
SKIPPED = 77
# Those that the guides' objects need. That which watches nodes is not among them: it would wait for their leases.
CONTROLLERS = ("serviceaccount-controller", "root-ca-certificate-publisher-controller", "namespace-controller",
               "garbage-collector-controller")


class Unavailable(Exception):
    """The programs cannot be had here; the message is one line."""


class Refused(Exception):
    """The API server's answer to a request that it did not fulfil."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


def prepare():
    """The folder of the programs; builds them if they are not there."""
    home = BUILD / of_sources()
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir():
            # Of other sources, and of builds that were ended.
            for old in [*BUILD.glob("v*"), *BUILD.glob("new-*")]:
                shutil.rmtree(old)
            build(home)
    return home


def of_sources():
    """Kubernetes' version, with a hash of all that decides what a build gives."""
    if shutil.which("go") is None:
        raise Unavailable("no go")
    contents = [(SOURCES / name).read_bytes()
                for name in ("go.mod", "go.sum", "main.go", "operator/go.mod", "operator/go.sum")]
    # One that is too old gets the one of go.mod, or says here that it cannot.
    compiler = go("version", limit_seconds=DOWNLOAD_SECONDS)
    if compiler.returncode != 0:
        raise Unavailable(f"no go that can build them: {last_line(compiler.stdout)}")
    contents.append(compiler.stdout.encode())
    version = re.search(rb"k8s\.io/kubernetes (v\S+)", contents[0])[1].decode()
    return f"{version}-{hashlib.sha256(b''.join(contents)).hexdigest()[:12]}"


def build(home):
    with tempfile.TemporaryDirectory(prefix="new-", dir=BUILD) as folder:
        for module in MODULES:
            downloaded = go("-C", module, "mod", "download", limit_seconds=DOWNLOAD_SECONDS)
            if downloaded.returncode != 0:
                raise Unavailable(f"the modules cannot be had: {last_line(downloaded.stdout)}")
        for module, programs in MODULES.items():
            for package, name in programs.items():
                built = go("-C", module, "build", "-trimpath", "-ldflags=-s -w", "-o", f"{folder}/{name}", package,
                           limit_seconds=BUILD_SECONDS)
                if built.returncode != 0:
                    raise RuntimeError(f"{package} cannot be built:\n{built.stdout[-4000:]}")
        os.chmod(folder, 0o755)
        os.rename(folder, home)
        # What the context removes at its end.
        os.mkdir(folder)


def go(*arguments, limit_seconds):
    return subprocess.run(["go", *arguments], cwd=SOURCES, timeout=limit_seconds, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def last_line(text):
    return (text.strip() or "no message").splitlines()[-1]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def await_true(what, condition, limit_seconds):
    """Asks until the condition holds, and returns what it then is. `what` makes the text of the error."""
    end = time.monotonic() + limit_seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"after {limit_seconds} s: {what()}")
        time.sleep(0.1)


def ended_with_parent(command):
    """The command, ended by the kernel when the thread that starts it ends."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *command] if shutil.which("setpriv") else list(command)


class Api:
    """Requests to an API server, by one account. Safe for threads: each request has a connection of its own."""

    def __init__(self, port, authority, token):
        self.port, self.authority, self.token = port, authority, token
        self.context = ssl.create_default_context(cafile=str(authority))

    def request(self, method, path, body=None, content_type="application/json"):
        """The answer, read; raises Refused where it is none of success."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=REQUEST_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
            content = None
            if body is not None:
                content, headers["Content-Type"] = json.dumps(body).encode(), content_type
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 300:
            with contextlib.suppress(ValueError, AttributeError):
                text = json.loads(text).get("message") or text
            raise Refused(answer.status, text)
        return json.loads(text) if text.startswith("{") else text

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def list(self, path):
        return self.request("GET", path)["items"]


class ControlPlane:
    """Runs in the block that it is used in. `api` and `kubectl` are the administrator's."""

    def __init__(self, programs=None, folder=None):
        """In a folder of this process in `folder`, which is build/control-plane unless it is given."""
        self.programs = programs or prepare()
        self.parent = folder or BUILD
        self.stack = contextlib.ExitStack()
        self.processes = {}  # name -> process, in the order of their starts

    def __enter__(self):
        # Runners of tests do not end all blocks when they are interrupted.
        atexit.register(self.__exit__)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        # Nothing may come between a process's end and the next one's.
        with without_interrupts():
            self.stack.close()
        atexit.unregister(self.__exit__)

    def _start(self):
        self.stack.enter_context(termination_unwinds())
        remove_folders_of_the_dead(self.parent)
        self.folder = Path(tempfile.mkdtemp(prefix=f"run-{os.getpid()}-", dir=self.parent))
        self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        keys = self.folder / "keys"
        keys.mkdir()
        subprocess.run([self.programs / "keys", keys], timeout=COMMAND_SECONDS, check=True)
        self.authority, self.certificate, self.key = (keys / name for name in ("ca.crt", "server.crt", "server.key"))
        self.etcd_port, peer, self.port = free_ports(3)
        self._start_etcd(self.etcd_port, peer)
        self._start_api_server(self.etcd_port, keys)
        self._start_program("kube-controller-manager", [
            f"--kubeconfig={self.kubeconfig()}", f"--controllers={','.join(CONTROLLERS)}", "--leader-elect=false",
            "--secure-port=0", f"--root-ca-file={self.authority}",
            f"--service-account-private-key-file={keys / 'tokens.key'}"])
        self._start_program("kube-scheduler", [
            f"--kubeconfig={self.kubeconfig()}", "--leader-elect=false", "--secure-port=0"])

    def _start_etcd(self, client, peer):
        for_clients, for_peers = f"https://127.0.0.1:{client}", f"https://127.0.0.1:{peer}"
        # Nothing that etcd keeps outlives it, so it need not wait for the disk.
        self._start_program("etcd", [
            "--name=one", f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync", "--logger=zap",
            f"--listen-client-urls={for_clients}", f"--advertise-client-urls={for_clients}", "--client-cert-auth",
            f"--trusted-ca-file={self.authority}", f"--cert-file={self.certificate}", f"--key-file={self.key}",
            f"--listen-peer-urls={for_peers}", f"--initial-advertise-peer-urls={for_peers}",
            f"--initial-cluster=one={for_peers}", "--peer-client-cert-auth",
            f"--peer-trusted-ca-file={self.authority}", f"--peer-cert-file={self.certificate}",
            f"--peer-key-file={self.key}"])
        context = ssl.create_default_context(cafile=str(self.authority))
        context.load_cert_chain(self.certificate, self.key)
        self._await("etcd", lambda: answers(client, context, "/health"))

    def _start_api_server(self, etcd_port, keys):
        admin = secrets.token_hex(16)
        users = self.folder / "users.csv"
        users.touch(mode=0o600)
        users.write_text(f'{admin},admin,admin,"system:masters"\n', encoding="utf-8")
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
                                      "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}))
        self.audit_log = self.folder / "audit.log"
        self._start_program("kube-apiserver", [
            f"--etcd-servers=https://127.0.0.1:{etcd_port}", f"--etcd-cafile={self.authority}",
            f"--etcd-certfile={self.certificate}", f"--etcd-keyfile={self.key}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", f"--cert-dir={self.folder / 'certs'}",
            f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}",
            f"--kubelet-certificate-authority={self.authority}", f"--kubelet-client-certificate={self.certificate}",
            f"--kubelet-client-key={self.key}",
            f"--token-auth-file={users}", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={keys / 'tokens.key'}",
            f"--service-account-signing-key-file={keys / 'tokens.key'}",
            f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}", "--profiling=false"])
        self.api = Api(self.port, self.authority, admin)
        self._await("kube-apiserver", self._ready)

    def _ready(self):
        try:
            self.api.request("GET", "/readyz")
            return True
        except (OSError, http.client.HTTPException, Refused):
            return False

    def _start_program(self, name, arguments):
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                ended_with_parent([self.programs / name, *arguments]), cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes[name] = process
        self.stack.callback(stop, process)

    def _await(self, name, condition):
        def held():
            self.check()
            return condition()
        await_true(lambda: f"{name} does not answer:\n{self.log_end(name)}", held, START_SECONDS)

    def check(self):
        """Raises if one of the programs has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log_end(name)}")

    def log_end(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-6000:]

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, name="admin", token=None, namespace="default"):
        """A file by which kubectl and Spark come as the account of the token; without one, as the administrator."""
        file = self.folder / f"{name}.kubeconfig"
        named = {"name": name}
        file.touch(mode=0o600)
        # JSON is YAML.
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [named | {"cluster": {
                "server": self.url,
                "certificate-authority-data": base64.b64encode(self.authority.read_bytes()).decode()}}],
            "users": [named | {"user": {"token": token or self.api.token}}],
            "contexts": [named | {"context": {"cluster": name, "user": name, "namespace": namespace}}]}))
        return file

    def account(self, namespace, name):
        """The API as an account of a namespace has it."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.api.request("POST", path, {"spec": {"expirationSeconds": 7200}})["status"]["token"]
        return Api(self.port, self.authority, token)

    def kubectl(self, *arguments, kubeconfig=None, cwd=None, given=None):
        """What kubectl prints, both outputs together; raises Refused if it fails."""
        done = subprocess.run(
            [self.programs / "kubectl", *map(str, arguments)], cwd=cwd or self.folder, input=given or "", text=True,
            timeout=COMMAND_SECONDS, env=self.variables(kubeconfig or self.kubeconfig()), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise Refused(done.returncode, done.stdout)
        return done.stdout

    def variables(self, kubeconfig):
        """This process's, with this control plane's kubectl first, which comes by this file."""
        return os.environ | {"PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
                             "KUBECONFIG": str(kubeconfig), "HOME": str(self.folder)}

    def audited(self):
        """The requests that the API server has answered: its audit events, in their order."""
        for line in self.audit_log.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the last line may be half written
                yield json.loads(line)


def answers(port, context, path):
    try:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


def stop(process):
    """Ends a process that leads a group, and its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=STOP_SECONDS)


def remove_folders_of_the_dead(parent):
    """Folders of processes that were killed before they could remove them."""
    for old in parent.glob("run-*-*"):
        number = old.name.split("-")[1]
        if number.isdigit() and not os.path.exists(f"/proc/{number}"):
            shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def termination_unwinds():
    """SIGTERM ends blocks as Ctrl-C does, if this is the main thread and nobody else handles it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def without_interrupts():
    """Holds Ctrl-C and SIGTERM back until the block has ended; in other threads than the main one they do not come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main():
    parser = argparse.ArgumentParser(description="Runs a Kubernetes control plane on this machine until interrupted.")
    parser.add_argument("--prepare", action="store_true", help="only build the programs")
    arguments = parser.parse_args()
    try:
        programs = prepare()
    except Unavailable as e:
        print(e)
        return SKIPPED
    if arguments.prepare:
        print(programs)
        return 0
    with contextlib.suppress(KeyboardInterrupt), ControlPlane(programs) as plane:
        print(f"export KUBECONFIG={plane.kubeconfig()}\nexport PATH={programs}:$PATH", flush=True)
        while True:
            plane.check()
            time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
