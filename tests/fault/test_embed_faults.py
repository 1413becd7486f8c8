"""Kill, full disk, failing calls: afterwards the same command gives the bytes of an undisturbed run.
The shallow loop is part of `make check`; DARKROOM_FULL=1 (make check-fault) walks every step."""
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import DARKROOM, ROOT, darkroom, sample, tree, write_tar

FULL = bool(os.environ.get("DARKROOM_FULL"))
POINTS = ["written", "synced", "renamed", "committed", "before-receipt"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    d = tmp_path_factory.mktemp("world")
    (d / "shards").mkdir()
    for s in range(3):
        write_tar(d / f"shards/{s:05d}.tar", [sample(10 * s + i) for i in range(6)])
    darkroom("embed", d / "shards", d / "clean", "--model", "tiny", "--metadata", check=0)
    return d / "shards", tree(d / "clean")


def finish(shards, place, want):
    darkroom("embed", shards, place, "--model", "tiny", "--metadata", check=0)
    darkroom("verify", place, check=0)
    darkroom("gc", place, check=0)
    assert tree(place) == want
    assert not list(place.rglob("*.tmp"))


def crash(shards, place, point, n):
    r = darkroom("embed", shards, place, "--model", "tiny", "--metadata", env={"DARKROOM_CRASH": f"{point}:{n}"})
    return r.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_kill_at_commit_steps(world, tmp_path, point):
    shards, want = world
    n = 0
    for n in range(1, 40):
        if not FULL and n not in (1, 3, 7, 12):
            continue
        place = tmp_path / f"{point}{n}"
        if not crash(shards, place, point, n):
            break
        finish(shards, place, want)
        shutil.rmtree(place)
    assert n > 2


def test_kill_again_and_again_at_one_place(world, tmp_path):
    shards, want = world
    for i, point in enumerate(POINTS * 2):
        crash(shards, tmp_path / "p", point, 1 + i % 4)
    finish(shards, tmp_path / "p", want)


def test_kill_at_random_times(world, tmp_path):
    shards, want = world
    rng = random.Random(7)
    for i in range(25 if FULL else 5):
        place = tmp_path / str(i)
        p = subprocess.Popen([str(DARKROOM), "embed", str(shards), str(place), "--model", "tiny", "--metadata"],
                             stderr=subprocess.DEVNULL, env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
        time.sleep(rng.random() * 0.25)
        p.kill()
        p.wait()
        finish(shards, place, want)


def mounts():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not mounts(), reason="needs root and mount namespaces")
@pytest.mark.parametrize("size", ["8k", "16k", "24k", "40k"])
def test_full_disk(world, tmp_path, size):
    shards, want = world
    place = tmp_path / "disk"
    place.mkdir()
    keep = tmp_path / "kept"
    script = (f"mount -t tmpfs -o size={size} none {place} && "
              f"{DARKROOM} embed {shards} {place}/p --model tiny --metadata; rc=$?; "
              f"cp -a {place}/p {keep} 2>/dev/null; exit $rc")
    r = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                       env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
    assert r.returncode == 5, r.stderr
    assert str(place) in r.stderr and "space" in r.stderr
    if keep.exists():
        finish(shards, keep, want)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("inject", ["write:error=EIO", "fsync:error=EIO", "rename:error=EACCES", "openat:error=EMFILE"])
def test_failing_calls(world, tmp_path, inject):
    shards, want = world
    call = inject.split(":")[0]
    for n in (range(1, 80) if FULL else (2, 5, 11, 23)):
        place = tmp_path / f"p{n}"
        r = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(tmp_path), "-e", f"trace={call}",
                            "-e", f"inject={inject}:when={n}", str(DARKROOM), "embed", str(shards), str(place),
                            "--model", "tiny", "--metadata"], capture_output=True, text=True,
                           env=dict(os.environ, DARKROOM_HOME=str(ROOT)), timeout=120)
        assert r.returncode in (0, 1, 3, 4, 5, 6), (n, r.returncode, r.stderr)
        finish(shards, place, want)
        shutil.rmtree(place)
