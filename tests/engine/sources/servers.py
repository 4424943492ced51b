"""An object store and web servers on this machine, which count the bytes that they send."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
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


def web_server(folder: Path, *, ranges: bool) -> AbstractContextManager[Traffic]:
    """Serve the files of a folder."""
    traffic = Traffic()
    kind = _Ranged if ranges else _Plain
    return _served(traffic, partial(kind, traffic, directory=str(folder)))


@contextmanager
def _served(traffic: Traffic, handler: Any) -> Iterator[Traffic]:
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


class _Google(BaseHTTPRequestHandler):
    """The parts of Google's interface that reading needs, over the files of a folder."""

    protocol_version = "HTTP/1.1"

    def __init__(self, traffic: Traffic, folder: Path, *given: Any) -> None:
        self.traffic, self.folder = traffic, folder
        super().__init__(*given)

    def log_message(self, format: str, *values: Any) -> None:
        self.traffic.requests.append(f"{self.command} {self.path}")

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        names = [unquote(part) for part in url.path.split("/")]
        if "/b/" not in url.path:  # /bucket/object
            self._send(self.folder / names[1] / "/".join(names[2:]), query)
            return
        at = names.index("b") + 1
        bucket = self.folder / names[at]
        if not bucket.is_dir() or "denied" in self.path:
            self._answer(403 if "denied" in self.path else 404, self._fault("denied" in self.path))
        elif len(names) == at + 1:
            self._answer(200, json.dumps({"kind": "storage#bucket", "name": names[at]}).encode())
        elif len(names) == at + 2:
            found = [each for each in sorted(bucket.rglob("*")) if each.is_file()]
            items = [self._about(bucket, each) for each in found]
            prefix = query.get("prefix", "")
            items = [each for each in items if str(each["name"]).startswith(prefix)]
            answer: dict[str, Any] = {"kind": "storage#objects", "items": items}
            if "delimiter" in query:
                inner = {str(each["name"])[len(prefix) :] for each in items}
                folders = {name.partition("/")[0] for name in inner if "/" in name}
                answer["prefixes"] = [f"{prefix}{folder}/" for folder in sorted(folders)]
                answer["items"] = [e for e in items if "/" not in str(e["name"])[len(prefix) :]]
            self._answer(200, json.dumps(answer).encode())
        else:
            self._send(bucket / "/".join(names[at + 2 :]), query)

    def _send(self, path: Path, query: dict[str, str]) -> None:
        if not path.is_file():
            self._answer(404, self._fault(False))
        elif "/b/" in self.path and query.get("alt") != "media":
            self._answer(200, json.dumps(self._about(self._bucket(path), path)).encode())
        else:
            data = path.read_bytes()
            begin, _, end = (
                self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            )
            part = data[int(begin) : int(end) + 1 if end else None]
            self.traffic.sent += len(part)
            span = f"bytes {begin}-{int(begin) + len(part) - 1}/{len(data)}"
            self._answer(206 if "Range" in self.headers else 200, part, span)

    def _bucket(self, path: Path) -> Path:
        return self.folder / path.relative_to(self.folder).parts[0]

    def _about(self, bucket: Path, path: Path) -> dict[str, object]:
        return {
            "kind": "storage#object",
            "bucket": bucket.name,
            "name": path.relative_to(bucket).as_posix(),
            "size": str(path.stat().st_size),
            "generation": "1",
            "updated": "2026-01-01T00:00:00.000Z",
        }

    def _fault(self, is_denied: bool) -> bytes:
        return json.dumps(
            {"error": {"message": "Forbidden" if is_denied else "Not Found"}}
        ).encode()

    def _answer(self, status: int, data: bytes, span: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def google_store(folder: Path) -> Iterator[str]:
    """Serve the folders of a folder as buckets of Google Cloud Storage, and yield the address.

    It is a process of its own: Arrow holds the lock of Python while it waits for some answers.
    """
    command = [sys.executable, "-m", "tests.engine.sources.servers", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.stdin.close()  # which ends it
            process.wait()


if __name__ == "__main__":
    asked = Traffic()
    with _served(asked, partial(_Google, asked, Path(sys.argv[1]))):
        print(asked.url, flush=True)
        sys.stdin.read()
