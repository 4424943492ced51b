"""An object store and web servers on this machine, which count the bytes that they send."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen


@dataclass
class Traffic:
    """The requests to a server, each a method and a path, and the bytes of all answers."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    sent: int = 0

    def clear(self) -> None:
        self.requests.clear()
        self.sent = 0


# ---------------------------------------------------------------- web servers


class _Plain(SimpleHTTPRequestHandler):
    """The server of Python, which sends whole files."""

    traffic: Traffic

    def __init__(self, traffic: Traffic, *given: Any, **options: Any) -> None:
        self.traffic = traffic
        super().__init__(*given, **options)

    def log_message(self, format: str, *values: Any) -> None:
        self.traffic.requests.append(f"{self.command} {self.path}")

    def do_GET(self) -> None:
        if "secret" in self.path:
            self.send_error(403)
        elif "broken" in self.path:
            self.send_error(500)
        else:
            self._send()

    def _send(self) -> None:
        super().do_GET()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        data = source.read()
        self.traffic.sent += len(data)
        outputfile.write(data)


class _Ranged(_Plain):
    """A server that sends parts of files."""

    def _send(self) -> None:
        whole = Path(self.translate_path(self.path))
        said = self.headers.get("Range")
        if said is None or not whole.is_file():
            super()._send()
            return
        data = whole.read_bytes()
        first, _, last = said.removeprefix("bytes=").partition("-")
        begin = int(first) if first else max(len(data) - int(last), 0)
        end = min(int(last) + 1 if first and last else len(data), len(data))
        if begin >= len(data):
            self.send_error(416)
            return
        self.send_response(206)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self.traffic.sent += end - begin
        self.wfile.write(data[begin:end])


@contextmanager
def web_server(folder: Path, *, ranges: bool) -> Iterator[Traffic]:
    """Serve the files of a folder."""
    traffic = Traffic()
    handler = partial(_Ranged if ranges else _Plain, traffic, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    traffic.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield traffic
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ---------------------------------------------------------------- object store


@contextmanager
def object_store() -> Iterator[Traffic]:
    """Run a store that speaks S3, and count its requests and bytes."""
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    traffic, application = Traffic(), DomainDispatcherApplication(create_backend_app)

    def counted(environ: dict[str, Any], start: Any) -> Iterator[bytes]:
        method = environ["REQUEST_METHOD"]
        traffic.requests.append(f"{method} {environ['PATH_INFO']}")
        for part in application(environ, start):
            traffic.sent += len(part) if method == "GET" else 0
            yield part

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, counted, threaded=True)
    traffic.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    # The first request loads the store, which takes seconds.
    urlopen(Request(f"{traffic.url}/events", method="PUT"), timeout=60).close()
    try:
        yield traffic
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
