"""A server that answers as the API server of Kubernetes does to what Spark asks of it, and keeps what it is sent. It
starts nothing: pods stay pending. It refuses what the account of the guide may not do, whoever asks."""

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from kubernetes_rights import ACCOUNT, Rights


class KubernetesApi:
    """Serves until the block that it is used in ends."""

    def __init__(self, rights=None):
        self.rights = rights or Rights.of_account(ACCOUNT.read_text(encoding="utf-8"))
        self.refusals = []
        self.lock = threading.Lock()
        self.objects = {}  # path of the object -> what was sent
        self.requests = []
        self.numbers = itertools.count(1)
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                api.answer(self, None)

            do_DELETE = do_GET

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                api.answer(self, json.loads(self.rfile.read(length) or b"{}"))

            do_PUT = do_PATCH = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *failure):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, handler, body):
        path = urlsplit(handler.path).path
        with self.lock:
            self.requests.append(f"{handler.command} {handler.path}")
            status, reply = self.reply(handler.command, path, parse_qs(urlsplit(handler.path).query), body)
        content = json.dumps(reply).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def reply(self, method, path, query, body):
        refusal = self.rights.refusal(method, path, query.get("watch") == ["true"], path in self.objects)
        if refusal is not None:
            self.refusals.append(refusal)
            return 403, {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
                         "message": refusal}
        if method == "POST":
            name = body["metadata"].get("name") or f"{body['metadata'].get('generateName', '')}{next(self.numbers)}"
            return self.kept(f"{path}/{name}", name, body, 201)
        if method in ("PATCH", "PUT"):
            return self.kept(path, path.rsplit("/", 1)[1], body, 200)
        if path in self.objects:
            return 200, self.objects[path]
        kind = path.rsplit("/", 1)[1]
        if kind in ("pods", "services", "configmaps", "persistentvolumeclaims"):
            items = [each for key, each in self.objects.items() if key.startswith(path + "/")]
            return 200, {"apiVersion": "v1", "kind": f"{kind[:-1].capitalize()}List",
                         "metadata": {"resourceVersion": "1"}, "items": items}
        return 404, {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
                     "message": f"nothing is at {path}"}

    def kept(self, path, name, body, status):
        number = next(self.numbers)
        metadata = self.objects.get(path, {}).get("metadata", {}) | body["metadata"]
        metadata |= {"name": name, "uid": f"00000000-0000-0000-0000-{number:012}", "resourceVersion": str(number),
                     "creationTimestamp": "2026-11-25T00:00:00Z"}
        self.objects[path] = body | {"metadata": metadata}
        if body.get("kind") == "Pod":
            self.objects[path]["status"] = {"phase": "Pending"}
        return status, self.objects[path]

    def pods(self, role):
        """The pods with the label that Spark gives to drivers or executors."""
        with self.lock:
            return [each for each in self.objects.values()
                    if each.get("kind") == "Pod" and each["metadata"].get("labels", {}).get("spark-role") == role]
