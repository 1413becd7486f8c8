"""Debian's Chromium, driven over its debugging pipe: no driver, no port, nothing but the standard library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. Everything it says (log entries, exceptions, requests) is kept in events."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="chromium")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # the program expects its pipe as files 3 and 4; they are put there behind numbers that nothing else has
        ends = [os.dup2(to_browser, 60), os.dup2(from_browser, 61)]
        args = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", f"--user-data-dir={self.home}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", 'exec "$@" 3<&60 4>&61', "bash", *args], pass_fds=ends, stderr=subprocess.DEVNULL)
        for fd in (to_browser, from_browser, *ends):
            os.close(fd)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def message(self, timeout):
        """The next message, or None."""
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            part = os.read(self.read, 1 << 20)
            if not part:
                raise EOFError("Chromium is gone")
            self.buffer += part
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, **params):
        self.number += 1
        ask = {"id": self.number, "method": method, "params": params}
        if self.session:
            ask["sessionId"] = self.session
        os.write(self.write, json.dumps(ask).encode() + b"\0")
        while True:
            m = self.message(60)
            assert m is not None, f"{method}: no answer"
            if m.get("id") == self.number:
                assert "error" not in m, (method, m["error"])
                return m["result"]
            self.events.append(m)

    def listen(self, seconds):
        """Gather what comes within that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            m = self.message(end - time.monotonic())
            if m:
                self.events.append(m)

    def open(self, url):
        self.events.clear()
        self.ask("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            m = self.message(60)
            assert m is not None, "the page does not load"
            self.events.append(m)
        self.listen(0.3)

    def complaints(self):
        """Errors and warnings of console, log and policy."""
        out = []
        for e in self.events:
            p = e.get("params", {})
            if e.get("method") == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                out.append(p["entry"]["text"])
            if e.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                out.append(json.dumps(p)[:300])
        return out

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def look(self, width, scheme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)

    def screenshot(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        png = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(png))

    def click(self, selector):
        box = self.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.home, ignore_errors=True)
