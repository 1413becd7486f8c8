"""Shared by the Python tests: the program under test and small shards to feed it."""
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DARKROOM_BUILD", ROOT / "build")).resolve()
DARKROOM = BUILD / "darkroom"


def darkroom(*args, check=None, timeout=300, env=None, **kw):
    """Run the program; `check` is the exit code it must have."""
    e = {**os.environ, "DARKROOM_HOME": str(ROOT), **(env or {})}
    r = subprocess.run([str(DARKROOM), *map(str, args)], capture_output=True, text=True, timeout=timeout, env=e, **kw)
    if check is not None:
        assert r.returncode == check, f"exit {r.returncode}, not {check}\n{r.stdout}\n{r.stderr}"
    return r


def picture(seed, w=96, h=80, fmt="JPEG", **kw):
    """Smooth noise: compresses like a photograph, differs for every seed."""
    from PIL import Image
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    im = Image.fromarray(small).resize((w, h), Image.BICUBIC)
    out = io.BytesIO()
    im.save(out, fmt, **kw)
    return out.getvalue()


def write_tar(path, samples, fmt=tarfile.USTAR_FORMAT):
    """samples: list of (key, {ext: bytes})."""
    with tarfile.open(path, "w", format=fmt) as t:
        for key, members in samples:
            for ext, data in members.items():
                info = tarfile.TarInfo(f"{key}.{ext}")
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
    return path


def sample(i, **extra):
    key = f"{i:09d}"
    members = {"jpg": picture(i, 80 + i % 50, 64 + i % 37), "txt": f"a red circle number {i}".encode(),
               "json": json.dumps({"url": f"http://example.invalid/{i}", "n": i, "score": i / 2}).encode()}
    members.update(extra)
    return key, {k: v for k, v in members.items() if v is not None}


@pytest.fixture
def shards(tmp_path):
    """Three clean shards of 7, 5 and 6 samples."""
    d = tmp_path / "shards"
    d.mkdir()
    at = 0
    for s, n in enumerate((7, 5, 6)):
        write_tar(d / f"{s:05d}.tar", [sample(at + i) for i in range(n)])
        at += n
    return d


def tree(place, but=("live",)):
    """Every file of a place with its bytes, without what depends on time."""
    place = Path(place)
    return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*"))
            if p.is_file() and not set(p.relative_to(place).parts) & set(but)}
