"""What goes wrong around a run: closed descriptors, commands that do not end, limits, files that
say more than they may, receipts edited by hand, places taken over by another run."""
import json
import os
import signal
import subprocess
import time

import pytest
from conftest import DARKROOM, ROOT, darkroom, picture, sample, tree, write_tar

ENV = dict(os.environ, DARKROOM_HOME=str(ROOT))


def embed(inp, place, *args, check=0, **kw):
    return darkroom("embed", inp, place, "--model", "tiny", *args, check=check, **kw)


def shell(command, timeout=60):
    return subprocess.run(["sh", "-c", command], env=ENV, timeout=timeout).returncode


STUBBORN = ["trap '' TERM; cat {0}; sleep 7; sleep 7",  # does not listen to SIGTERM
            "cat {0}; exec >&-; sleep 15"]              # ends its output, not itself


@pytest.mark.parametrize("command", [*STUBBORN, None])
def test_stops_while_an_input_hangs(shards, tmp_path, command):
    fifo = tmp_path / "f.tar"
    os.mkfifo(fifo)
    name = "pipe:" + command.format(shards / "00000.tar") if command else str(fifo)
    p = subprocess.Popen([str(DARKROOM), "embed", name, str(tmp_path / "p"), "--model", "tiny"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
    live = tmp_path / "p/_darkroom/embed/live/0.json"
    while not live.exists():
        time.sleep(0.05)
    time.sleep(0.3)
    p.send_signal(signal.SIGTERM)
    try:
        assert p.wait(timeout=12) == 75
    finally:
        p.kill()
