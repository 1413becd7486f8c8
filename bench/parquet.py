"""Parquet: our writer and reader beside pyarrow's, interleaved, CPU seconds, best of N.

    python bench/parquet.py [ROWS] [ROUNDS] [metadata|embeddings]
    needs build/bench/parquet_bench (make build/bench/parquet_bench), pyarrow, numpy

Two tables: metadata as `embed` writes it (strings, ints, floats) and embeddings (list<float>).
pyarrow runs on one thread, as ours does. A ratio above 1 means that ours is faster."""
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
BENCH = Path(os.environ.get("DARKROOM_BUILD", "build")) / "bench/parquet_bench"
pa.set_cpu_count(1)


def metadata(rows):
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randrange(2, 10))) for _ in range(5000)]
    captions = [" ".join(rng.choices(words, k=8)) for _ in range(rows)]
    host = [f"https://www.{w}.com/img/" for w in words[:800]]
    return pa.table({
        "image_path": pa.array([f"{i:09d}" for i in range(rows)]), "caption": pa.array(captions),
        "shard": pa.array([f"{i // 10000:05d}.tar" for i in range(rows)]),
        "url": pa.array([rng.choice(host) + f"{rng.randrange(16**12):012x}.jpg" for _ in range(rows)]),
        "width": pa.array([rng.randrange(200, 2000) for _ in range(rows)], pa.int32()),
        "height": pa.array([rng.choice([256, 480, 512, 640, 768, 1024]) for _ in range(rows)], pa.int32()),
        "sample_id": pa.array([rng.randrange(2**62) for _ in range(rows)]),
        "similarity": pa.array(np.random.default_rng(1).random(rows, np.float32)),
        "punsafe": pa.array([None if rng.random() < 0.1 else rng.random() for _ in range(rows)])})


def embeddings(rows, dim=512):
    values = np.random.default_rng(2).standard_normal((rows, dim), np.float32)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * dim)
    return pa.table({"image_embedding": pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1)))})


def cpu(fn):
    start = time.process_time()
    fn()
    return time.process_time() - start


def ours(*args):
    return float(subprocess.run([BENCH, *map(str, args)], check=True, capture_output=True).stdout)


def compare(title, runs):
    best = {}
    for _ in range(ROUNDS):
        for name, fn in runs.items():
            best[name] = min(best.get(name, 1e9), fn())
    mine = best.pop("ours")
    print(f"{title:34s} ours {mine:7.3f} s   " +
          "   ".join(f"{n} {t:7.3f} s = {t / mine:5.2f}x" for n, t in best.items()), flush=True)


def run(name, table, folder):
    source = folder / "in.parquet"
    pq.write_table(table, source, compression="none", use_dictionary=False)
    theirs = folder / "theirs.parquet"
    for codec in ("snappy", "zstd", "none"):
        compare(f"write {name} {codec}", {
            "ours": lambda: ours("write", source, folder, codec),
            "pyarrow plain": lambda: cpu(lambda: pq.write_table(table, theirs, compression=codec, use_dictionary=False)),
            "pyarrow default": lambda: cpu(lambda: pq.write_table(table, theirs, compression=codec))})
        sizes = (folder / "ours.parquet").stat().st_size, theirs.stat().st_size
        print(f"{'':34s} {sizes[0] / 1e6:.1f} MB, pyarrow default {sizes[1] / 1e6:.1f} MB")
        for label, path in (("ours", folder / "ours.parquet"), ("pyarrow's", theirs)):
            compare(f"read {name} {codec}, {label}", {
                "ours": lambda: ours("read", path),
                "pyarrow": lambda: cpu(lambda: pq.read_table(path, use_threads=False))})


with tempfile.TemporaryDirectory() as tmp:
    if "embeddings" not in sys.argv:
        run(f"metadata {ROWS}", metadata(ROWS), Path(tmp))
    if "metadata" not in sys.argv:
        run(f"embeddings {ROWS // 20}x512", embeddings(ROWS // 20), Path(tmp))
