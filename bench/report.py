"""report and explain over a million rows: time, memory, size of the page.
There is no peer: notebooks do this work today. Goals: under 10 s, under 512 MiB, under 10 MB."""
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import places  # noqa: E402

ROWS = int(os.environ.get("ROWS", 1_000_000))
PARTS = max(1, ROWS // 10_000)
SHARDS = min(PARTS, int(os.environ.get("SHARDS", 30)))  # tars that are there; the others are "not at hand"


def header(name, size):
    """A ustar header; tarfile takes a minute for a million of them."""
    h = bytearray(512)
    h[0:len(name)] = name.encode()
    h[100:124] = b"0000644\0" b"0000000\0" b"0000000\0"
    h[124:148] = b"%011o\0" % size + b"00000000000\0"
    h[148:156] = b" " * 8
    h[156:157], h[257:265] = b"0", b"ustar\00000"
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def make_shard(path, keys, rng):
    pictures = []
    for _ in range(50):
        out = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize((384, 288), Image.BICUBIC).save(out, "JPEG", quality=70)
        pictures.append(out.getvalue() + bytes(-len(out.getvalue()) % 512))
    with open(path, "wb") as f:
        for i, key in enumerate(keys):
            f.write(header(f"{key}.jpg", len(pictures[i % 50])) + pictures[i % 50])
            f.write(header(f"{key}.txt", 9) + b"a caption".ljust(512, b"\0"))
        f.write(bytes(1024))


def make(place, shards):
    rng = np.random.default_rng(1)
    n, per = ROWS, ROWS // PARTS
    keys = np.char.add(np.char.zfill(np.repeat(np.arange(PARTS), per).astype("U5"), 5), np.char.zfill(np.tile(np.arange(per), PARTS).astype("U4"), 4))
    words = np.array("a photo of red blue small large old new house tree cat dog river mountain sale shop".split())
    captions = [" ".join(words[w]) for w in rng.integers(0, len(words), (n, 9))]
    shard = np.repeat([f"{p:05d}.tar" for p in range(PARTS)], per)
    P = places.Place(place, [per] * PARTS, errors={p: [(f"bad{p}{i}", f"{p:05d}.tar", "corrupt" if i % 3 else "truncated", "damaged JPEG data")
                                                       for i in range(50)] for p in range(PARTS)})
    P.embedded({"image_path": pa.array(keys), "caption": pa.array(captions), "shard": pa.array(shard), "key": pa.array(keys),
                "width": pa.array(rng.integers(200, 2000, n)), "height": pa.array(rng.integers(200, 2000, n)),
                "url": pa.array(np.char.add("https://example.invalid/", keys)), "similarity": pa.array(rng.normal(.3, .05, n))},
               rng.normal(size=(n, 64)).astype(np.float16))
    a, s = rng.normal(5.3, .9, n).astype(np.float32), rng.beta(.4, 5, n).astype(np.float32)
    P.scored(aesthetic_score=a, nsfw_score=s, watermark_score=rng.random(n, dtype=np.float32))
    keep = (a >= 5) & (s <= .2)
    P.filtered(keep, np.where(a < 5, "aesthetic_score >= 5", np.where(s > .2, "nsfw_score <= 0.2", "")), "aesthetic_score >= 5 and nsfw_score <= 0.2")
    cluster = (rng.pareto(1.2, n) * 40).astype(np.int64) % 1000
    order = np.lexsort((np.arange(n), cluster))
    first = np.r_[True, cluster[order][1:] != cluster[order][:-1]]
    max_id = keys.copy()
    max_id[order[1:]] = np.where(first[1:], keys[order[1:]], keys[order[:-1]])  # long chains: the hard case
    score = rng.beta(8, 2, n).astype(np.float32)
    score[order[first]] = 0
    P.deduped(keys, cluster, max_id, score, score >= .8, .2)
    places.write_live(P.path, "embed", samples=n, rows=n, seconds=5000.0, bottleneck="device", inputs=str(shards))
    for p in range(SHARDS):
        make_shard(shards / f"{p:05d}.tar", keys[p * per:(p + 1) * per], rng)
    P.made_from(shards)


def run(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.monotonic()
    p = subprocess.Popen([str(ROOT / "build/darkroom"), *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    assert status == 0, status
    return time.monotonic() - t, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def main():
    d = Path(tempfile.mkdtemp(prefix="report", dir=ROOT / "build"))
    try:
        (d / "shards").mkdir()
        # in a process of its own: a child's peak memory counts what its parent held when it forked
        subprocess.run([sys.executable, __file__, "make", d], check=True)
        best = min(run("report", d / "place", "-o", d / "r.html") for _ in range(3))
        size = (d / "r.html").stat().st_size
        text = (d / "r.html").read_text()
        data = json.loads(text.split('id="report-data">')[1].split("</script>")[0])
        print(f"report: {ROWS} rows, {best[0]:.2f} s wall, {best[1]:.2f} s CPU, {best[2]:.0f} MiB, page {size / 1e6:.2f} MB, {data['pictures']} pictures")
        one = min(run("explain", d / "place", "000420031") for _ in range(3))
        print(f"explain: {one[0]:.2f} s wall, {one[1]:.2f} s CPU, {one[2]:.0f} MiB")
    finally:
        shutil.rmtree(d)


if len(sys.argv) > 1 and sys.argv[1] == "make":
    make(Path(sys.argv[2]) / "place", Path(sys.argv[2]) / "shards")
else:
    main()
