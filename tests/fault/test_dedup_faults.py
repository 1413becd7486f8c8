"""Kill, full disk, failing calls during dedup: afterwards the same command gives the bytes of an undisturbed run.
The shallow loop is part of `make check`; DARKROOM_FULL=1 (make check-fault) walks every step."""
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DARKROOM, darkroom, tree

FULL = bool(os.environ.get("DARKROOM_FULL"))
POINTS = ["written", "synced", "renamed", "committed", "receipt", "block"]
ARGS = ["--clusters", "3", "--eps", "0.05", "--layout", "nemo"]


def fresh(place):
    """Two partitions, known by size and time: every copy must have the same."""
    rng = np.random.default_rng(5)
    (place / "img_emb").mkdir(parents=True)
    (place / "metadata").mkdir()
    for p, n in enumerate((40, 25)):
        x = rng.normal(size=(n, 6)).astype(np.float32)
        x[n // 2:] = x[:n - n // 2] * 1.01
        np.save(place / f"img_emb/img_emb_{p}.npy", x)
        pq.write_table(pa.table({"key": [f"{p}{i:04d}" for i in range(n)]}), place / f"metadata/metadata_{p}.parquet")
    for f in place.rglob("*.*"):
        os.utime(f, ns=(1, 1))
    return place


@pytest.fixture(scope="module")
def want(tmp_path_factory):
    place = fresh(tmp_path_factory.mktemp("clean") / "p")
    darkroom("dedup", place, *ARGS, check=0)
    return tree(place)


def finish(place, want):
    darkroom("dedup", place, *ARGS, check=0)
    darkroom("verify", place, check=0)
    darkroom("gc", place, check=0)
    assert tree(place) == want
    assert not list(place.rglob("*.tmp"))


def crash(place, point, n):
    r = darkroom("dedup", place, *ARGS, env={"DARKROOM_CRASH": f"{point}:{n}"})
    return r.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_kill_at_every_step(want, tmp_path, point):
    n = 0
    for n in range(1, 60):
        if not FULL and n not in (1, 6, 16, 21):
            continue
        place = fresh(tmp_path / f"{point}{n}")
        if not crash(place, point, n):
            break
        finish(place, want)
        shutil.rmtree(place)
    assert n > 1


def test_kill_again_and_again_at_one_place(want, tmp_path):
    place = fresh(tmp_path / "p")
    for i, point in enumerate(POINTS * 2):
        crash(place, point, 1 + i % 4)
    finish(place, want)


def test_kill_at_random_times(want, tmp_path):
    rng = random.Random(7)
    for i in range(25 if FULL else 3):
        place = fresh(tmp_path / str(i))
        p = subprocess.Popen([str(DARKROOM), "dedup", str(place), *ARGS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.1)
        p.kill()
        p.wait()
        finish(place, want)


def mounts():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not mounts(), reason="needs root and mount namespaces")
@pytest.mark.parametrize("size", ["40k", "56k", "80k", "112k"])
def test_full_disk(want, tmp_path, size):
    source, disk, keep = fresh(tmp_path / "p"), tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    script = (f"mount -t tmpfs -o size={size} none {disk} && cp -a {source} {disk}/p && "
              f"{DARKROOM} dedup {disk}/p {' '.join(ARGS)}; rc=$?; cp -a {disk}/p {keep} 2>/dev/null; exit $rc")
    r = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    assert r.returncode == 5, r.stderr
    assert str(disk) in r.stderr and "space" in r.stderr
    finish(keep, want)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("inject", ["write:error=EIO", "fsync:error=EIO", "rename:error=EACCES", "openat:error=EMFILE"])
def test_failing_calls(want, tmp_path, inject):
    call = inject.split(":")[0]
    for n in (range(1, 80) if FULL else (3, 17)):
        place = fresh(tmp_path / f"p{n}")
        r = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(tmp_path), "-e", f"trace={call}",
                            "-e", f"inject={inject}:when={n}", str(DARKROOM), "dedup", str(place), *ARGS],
                           capture_output=True, text=True, timeout=120)
        assert r.returncode in (0, 1, 4, 5, 7), (n, r.returncode, r.stderr)
        finish(place, want)
        shutil.rmtree(place)
