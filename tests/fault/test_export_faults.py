"""Kill, full disk, failing calls during export: afterwards the same command gives the bytes of an undisturbed run.
The shallow loop is part of `make check`; DARKROOM_FULL=1 (make check-fault) walks every step."""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from conftest import DARKROOM, ROOT, darkroom, tree  # noqa: E402
from export_world import export, many, own_place, remove  # noqa: E402

FULL = bool(os.environ.get("DARKROOM_FULL"))
POINTS = ["written", "synced", "renamed", "committed", "before-receipt"]
ARGS = ("--samples-per-shard", 7, "--renumber", "--with-embedding")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    d = tmp_path_factory.mktemp("world")
    (d / "shards").mkdir()
    for s in range(3):
        many(d / f"shards/{s}.tar", [f"{s}{i:02d}.{e}" for i in range(10) for e in ("jpg", "txt")], bytes([s]) * 3000)
    place = own_place(d / "place", d / "shards", 3)
    remove(place, [(0, 3), (1, 0), (2, 9)])
    export(d / "shards", place, d / "clean", *ARGS)
    assert len(list((d / "clean").glob("*.tar"))) == 4
    return d / "shards", place, tree(d / "clean"), tree(place)


def finish(world, out):
    shards, place, want, want_place = world
    export(shards, place, out, *ARGS)
    darkroom("verify", out, check=0)
    darkroom("gc", out, check=0)
    assert tree(out) == want
    assert not list(out.rglob("*.tmp"))
    darkroom("gc", place, check=0)
    darkroom("verify", place, check=0)
    assert tree(place).keys() == want_place.keys()  # the note in it is of this run


def crash(world, out, point, n, *more):
    r = darkroom("export", world[0], world[1], out, *ARGS, *more, env={"DARKROOM_CRASH": f"{point}:{n}"})
    return r.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_kill_at_commit_steps(world, tmp_path, point):
    n = 0
    for n in range(1, 60):
        if not FULL and n not in (1, 4, 9):
            continue
        out = tmp_path / f"{point}{n}"
        if not crash(world, out, point, n, "--threads", 1 + n % 2):
            break
        finish(world, out)
        shutil.rmtree(out)
    assert n > 2


def test_kill_again_and_again_at_one_place(world, tmp_path):
    for i, point in enumerate(POINTS * 2):
        crash(world, tmp_path / "out", point, 1 + i % 4)
    finish(world, tmp_path / "out")


def test_kill_at_random_times(world, tmp_path):
    rng = random.Random(7)
    for i in range(25 if FULL else 4):
        out = tmp_path / str(i)
        p = subprocess.Popen([str(DARKROOM), "export", str(world[0]), str(world[1]), str(out), *map(str, ARGS)],
                             stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.1)
        p.kill()
        p.wait()
        finish(world, out)


def test_kill_of_one_task_does_not_disturb_the_others(world, tmp_path):
    out = tmp_path / "out"
    crash(world, out, "renamed", 2, "--task", "1/3")
    for i in (0, 2):
        export(world[0], world[1], out, *ARGS, "--task", f"{i}/3")
    finish(world, out)


def mounts():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not mounts(), reason="needs root and mount namespaces")
@pytest.mark.parametrize("size", ["20k", "60k", "100k", "140k"])
def test_full_disk(world, tmp_path, size):
    disk, keep = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    command = " ".join(map(str, [DARKROOM, "export", world[0], world[1], f"{disk}/out", *ARGS, "--threads", 2]))
    script = (f"mount -t tmpfs -o size={size} none {disk} && {command}; rc=$?; cp -a {disk}/out {keep} 2>/dev/null; exit $rc")
    r = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    assert r.returncode == 5, r.stderr
    assert str(disk) in r.stderr and "space" in r.stderr
    if keep.exists():
        finish(world, keep)


def test_files_that_may_not_grow(world, tmp_path):
    """RLIMIT_FSIZE: what the writing thread meets is told in one line, exit 5."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    r = subprocess.run([str(DARKROOM), "export", *map(str, (world[0], world[1], tmp_path / "out")), *map(str, ARGS)],
                       capture_output=True, text=True, preexec_fn=limit)
    assert r.returncode == 5 and "File too large" in r.stderr and not list((tmp_path / "out").rglob("*.tmp"))
    finish(world, tmp_path / "out")


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("inject", ["write:error=EIO", "fsync:error=EIO", "rename:error=EACCES", "openat:error=EMFILE",
                                    "unlink:error=EACCES"])
def test_failing_calls(world, tmp_path, inject):
    call = inject.split(":")[0]
    for n in (range(1, 60) if FULL else (1, 3, 8, 19)):
        out = tmp_path / f"o{n}"
        r = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(tmp_path), "-e", f"trace={call}", "-e",
                            f"inject={inject}:when={n}", str(DARKROOM), "export", *map(str, (world[0], world[1], out, *ARGS))],
                           capture_output=True, text=True, timeout=120)
        assert r.returncode in (0, 1, 3, 4, 5), (n, r.returncode, r.stderr)
        finish(world, out)
        shutil.rmtree(out)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_source_that_cannot_be_read(world, tmp_path):
    """An error of the disk says nothing about the samples: what needs that shard stays undone."""
    out = tmp_path / "out"
    r = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(world[0] / "1.tar"), "-e", "trace=read", "-e",
                        "inject=read:error=EIO:when=1+", str(DARKROOM), "export", *map(str, (world[0], world[1], out, *ARGS))],
                       capture_output=True, text=True, timeout=120, env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
    assert r.returncode == 3 and "1.tar" in r.stderr and "Input/output error" in r.stderr
    assert {p.name for p in out.glob("*.tar")} == {"00000.tar", "00003.tar"}
    finish(world, out)
