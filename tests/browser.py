"""A headless Chromium, driven over a pipe by the DevTools protocol: nothing to install but itself.

https://chromedevtools.github.io/devtools-protocol/ describes its methods and events.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # it does not start as root or in a container otherwise; we open our own pages
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)
PATIENCE = 60.0  # seconds for an answer; a machine may be busy
# Key → code and text, of the keys that tests press.
KEYS = {
    "Enter": (13, "\r"),
    " ": (32, " "),
    "Tab": (9, ""),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowUp": (38, ""),
    "ArrowDown": (40, ""),
}


def found() -> str | None:
    """The path of a browser, where there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab with a page; `events` are the reports of the browser about it."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe, self._rest, self._last = pipe, b"", 0
        pipe.settimeout(PATIENCE)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.do(f"{domain}.enable")
        self.do("Page.setLifecycleEventsEnabled", enabled=True)

    def do(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._pipe.sendall(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, path: Path, width: int = 1400, height: int = 900, *, fragment: str = "") -> None:
        """Show a file in a window of that size."""
        self.resize(width, height)
        self._go("about:blank")  # else only the fragment may be new, and nothing is loaded
        self.events.clear()
        self._go(path.as_uri() + (f"#{fragment}" if fragment else ""))

    def resize(self, width: int, height: int = 900) -> None:
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scripts(self, run: bool) -> None:
        """Whether the scripts of pages run."""
        self.do("Emulation.setScriptExecutionDisabled", value=not run)

    def media(self, *, scheme: str = "light", kind: str = "", calm: bool = False) -> None:
        """Prefer a colour scheme and no motion, or show the page as it is printed."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
        ]
        self.do("Emulation.setEmulatedMedia", media=kind, features=features)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        done = self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element, as a reader would."""
        x, y = self.value(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
            " it.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const box = it.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        code, text = KEYS[key]
        about = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.do("Input.dispatchKeyEvent", **down, **about)
        self.do("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, whole: bool = True) -> bytes:
        """A picture of the page, as PNG."""
        done = self.do("Page.captureScreenshot", captureBeyondViewport=whole)
        return b64decode(done["data"])

    def pdf(self) -> bytes:
        """The output of the printer."""
        return b64decode(self.do("Page.printToPDF", preferCSSPageSize=True)["data"])

    def accessible(self) -> list[dict[str, Any]]:
        """The tree of a screen reader: role, name and properties of each node, in order."""
        nodes = {n["nodeId"]: n for n in self.do("Accessibility.getFullAXTree")["nodes"]}

        def below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
            yield node
            for child in node["childIds"]:
                yield from below(nodes[child])

        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{each["name"]: each["value"].get("value") for each in node["properties"]},
            }
            for node in below(next(iter(nodes.values())))
            if not node["ignored"]
        ]

    def complaints(self) -> list[dict[str, Any]]:
        """Errors and all that was written to the console."""
        wrong = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self.events if event["method"] in wrong]

    def requests(self) -> list[str]:
        """The requests to the disk or a network since the page was opened."""
        sent = (e for e in self.events if e["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def _go(self, url: str) -> None:
        """Open an address and wait until it is loaded."""
        loaded = {"name": "load", "loaderId": self.do("Page.navigate", url=url)["loaderId"]}
        while not any(loaded.items() <= event["params"].items() for event in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        """The next message; events are remembered."""
        while b"\0" not in self._rest:
            more = self._pipe.recv(1 << 16)
            assert more, "the browser is gone"
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message


@contextmanager
def browsing(path: str, profile: Path) -> Iterator[Page]:
    """A browser with one page, and a profile of its own in a folder."""
    ours, theirs = socket.socketpair()
    # It reads descriptor 3 and writes 4, which the other end must not be itself.
    end = fcntl.fcntl(theirs, fcntl.F_DUPFD, 10)
    theirs.close()

    def hand_over() -> None:
        os.dup2(end, 3)
        os.dup2(end, 4)

    with ours, (profile / "log").open("wb") as log:
        process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=hand_over,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        os.close(end)
        try:
            yield Page(ours)
        finally:
            ours.shutdown(socket.SHUT_RDWR)  # which ends it
            process.wait(PATIENCE)
