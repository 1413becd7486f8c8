"""filter killed at every commit step, the first time and while it replaces older results: the same
command afterwards gives the bytes of an undisturbed run."""
import os
import shutil
import signal

import pyarrow.parquet as pq
import pytest
from conftest import darkroom, sample, tree, write_tar

FULL = bool(os.environ.get("DARKROOM_FULL"))
NEW = ("--where", "n >= 14 and height > 66", "--threads", "1")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    d = tmp_path_factory.mktemp("world")
    (d / "shards").mkdir()
    for s in range(3):
        write_tar(d / f"shards/{s:05d}.tar", [sample(10 * s + i) for i in range(6)])
    darkroom("embed", d / "shards", d / "fresh", "--model", "tiny", "--metadata", check=0)
    shutil.copytree(d / "fresh", d / "clean")
    darkroom("filter", d / "clean", *NEW, check=0)
    shutil.copytree(d / "fresh", d / "older")
    darkroom("filter", d / "older", "--where", "n >= 3", check=0)
    return d, tree(d / "clean")


@pytest.mark.parametrize("start", ["fresh", "older"])
@pytest.mark.parametrize("point", ["written", "synced", "renamed", "committed", "receipt"])
def test_kill_at_commit_steps(world, tmp_path, start, point):
    d, want = world
    for n in range(1, 30):
        if not FULL and n not in (2, 5):
            continue
        place = shutil.copytree(d / start, tmp_path / f"{n}")
        r = darkroom("filter", place, *NEW, env={"DARKROOM_CRASH": f"{point}:{n}"})
        if r.returncode != -signal.SIGKILL:
            break
        darkroom("filter", place, *NEW, check=0)
        darkroom("verify", place, check=0)
        darkroom("gc", place, check=0)
        assert tree(place) == want
        for f in sorted(place.glob("keep/*.parquet")):
            assert set(pq.read_table(f)["reason"].to_pylist()) <= {"", "n >= 14", "height > 66"}
        shutil.rmtree(place)
