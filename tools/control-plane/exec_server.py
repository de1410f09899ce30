"""What a node serves for `kubectl exec`: runs a command in a pod, over a WebSocket that the API server hands on.

A frame's first byte is a channel: 1 and 2 are the command's outputs, 3 says at the end how the command ended, as a
Status. Input and terminals are not served. (The protocol is v5.channel.k8s.io, from Kubernetes 1.36 on without another
in between: KEP 4006.)
"""

import base64
import contextlib
import hashlib
import json
import ssl
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PROTOCOL = "v5.channel.k8s.io"
# Of RFC 6455.
KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BINARY, CLOSE, PING, PONG = 2, 8, 9, 10
OUTPUT, ERRORS, STATUS = 1, 2, 3
# Of requests and of what they send after it: longer frames end the connection.
LARGEST_FRAME = 1 << 16
PIECE = 1 << 15
IDLE_SECONDS = 120


class Connections(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that go, or have no certificate, are no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class ExecServer:
    """Serves a control plane's API server, and nobody else, in the block that it is used in. `start_in(namespace, pod,
    arguments)` starts a process with pipes, or raises LookupError if no such pod runs here."""

    def __init__(self, plane, start_in):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_SECONDS

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                serve(self, start_in)

            do_POST = do_GET

        self.server = Connections(("127.0.0.1", 0), Handler)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(plane.authority))
        context.load_cert_chain(plane.certificate, plane.key)
        context.verify_mode = ssl.CERT_REQUIRED
        # Hands are shaken by each connection's own thread, when it first reads.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def port(self):
        return self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *failure):
        self.server.shutdown()
        self.server.server_close()


def serve(handler, start_in):
    """Answers /exec/NAMESPACE/POD/CONTAINER?command=…"""
    handler.close_connection = True
    url = urlsplit(handler.path)
    parts, query = url.path.split("/"), parse_qs(url.query)
    offered = [each.strip() for each in handler.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    if len(parts) != 5 or parts[1] != "exec" or "command" not in query or "input" in query or "tty" in query:
        handler.send_error(404, "only commands without input are served here")
    elif PROTOCOL not in offered or "Sec-WebSocket-Key" not in handler.headers:
        handler.send_error(400, f"{PROTOCOL} alone is spoken here")
    else:
        try:
            process = start_in(parts[2], parts[3], query["command"])
        except LookupError:
            handler.send_error(404, f"no pod {parts[3]} runs here")
            return
        with process:
            try:
                carry(handler, process)
            finally:
                process.kill()


def carry(handler, process):
    """Carries a process's output until it ends, or until the other side has gone."""
    digest = hashlib.sha1((handler.headers["Sec-WebSocket-Key"] + KEY_SUFFIX).encode()).digest()
    handler.send_response(101)
    for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", PROTOCOL),
                        ("Sec-WebSocket-Accept", base64.b64encode(digest).decode())):
        handler.send_header(name, value)
    handler.end_headers()
    lock = threading.Lock()

    def send(kind, content):
        with lock:
            handler.wfile.write(frame(kind, content))

    def pump(channel, stream):
        with contextlib.suppress(OSError):
            while piece := stream.read1(PIECE):
                send(BINARY, bytes([channel]) + piece)

    def listen():
        with contextlib.suppress(OSError, ValueError):
            while True:
                kind, content = read_frame(handler.rfile)
                if kind == PING:
                    send(PONG, content)
                elif kind == CLOSE:
                    break
        process.kill()

    # It says that the connection is there.
    send(BINARY, bytes([OUTPUT]))
    pumps = [threading.Thread(target=pump, args=each, daemon=True)
             for each in ((OUTPUT, process.stdout), (ERRORS, process.stderr))]
    for thread in [*pumps, threading.Thread(target=listen, daemon=True)]:
        thread.start()
    for thread in pumps:
        thread.join()
    with contextlib.suppress(OSError):
        send(BINARY, bytes([STATUS]) + json.dumps(status(process.wait())).encode())
        send(CLOSE, struct.pack(">H", 1000))


def status(code):
    """How a command ended, as kubectl reads it."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    code = code if code > 0 else 128 - code
    return {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


def frame(kind, content):
    """A frame of a server: whole, without a mask."""
    length = len(content)
    if length < 126:
        head = struct.pack(">BB", 0x80 | kind, length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", 0x80 | kind, 126, length)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 127, length)
    return head + content


def read_frame(stream):
    """Kind and content of a client's frame; ValueError if it is too long, cut off, or not masked."""
    first, second = exactly(stream, 2)
    length = second & 0x7F
    if length == 126:
        length, = struct.unpack(">H", exactly(stream, 2))
    elif length == 127:
        length, = struct.unpack(">Q", exactly(stream, 8))
    if length > LARGEST_FRAME or not second & 0x80:
        raise ValueError(f"a frame of {length} bytes, or without a mask")
    mask = exactly(stream, 4)
    return first & 0x0F, bytes(byte ^ mask[n % 4] for n, byte in enumerate(exactly(stream, length)))


def exactly(stream, count):
    found = stream.read(count)
    if len(found) != count:
        raise ValueError("the connection has ended")
    return found


def piped(command, variables):
    """A process as `start_in` gives it."""
    return subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
