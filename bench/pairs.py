"""In-cluster cosine: our half of the square beside numpy's whole, interleaved.

    python bench/pairs.py [N] [DIM] [ROUNDS] [THREADS]
    needs build/bench/pairs_bench (make build/bench/pairs_bench) and numpy

One cluster of N fp16 rows, fp32 sums. numpy does what NeMo Curator does: normalise, E E^T in batches
of 1024 columns, strict upper triangle, maximum and argmax of every column. Wall and CPU seconds,
best of ROUNDS; above 1: ours is faster."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N, DIM, ROUNDS, THREADS = [int(a) for a in sys.argv[1:5]] + [8000, 768, 5, 2][len(sys.argv[1:5]):]
BENCH = Path(os.environ.get("DARKROOM_BUILD", "build")) / "bench/pairs_bench"


def scores(half, only_product=False):
    e = half.astype(np.float32)
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    out, who = np.empty(len(e), np.float32), np.empty(len(e), np.int64)
    for s in range(0, len(e), 1024):
        sim = e @ e[s:s + 1024].T
        if only_product:
            continue
        sim = np.triu(sim, 1 - s)
        out[s:s + 1024], who[s:s + 1024] = sim.max(0), sim.argmax(0)
    return out


def peer(path, only_product):
    x = np.fromfile(path, np.float16).reshape(N, DIM)
    wall, cpu = time.perf_counter(), time.process_time()
    s = scores(x, only_product)
    print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
    if not only_product:
        s.tofile(path + ".numpy")


def main():
    env = dict(os.environ, OMP_NUM_THREADS=str(THREADS), OPENBLAS_NUM_THREADS=str(THREADS))
    with tempfile.TemporaryDirectory() as tmp:
        path = tmp + "/x.f16"
        r = np.random.default_rng(3)
        x = r.standard_normal((N, DIM), dtype=np.float32) + 1.5 * r.standard_normal(DIM).astype(np.float32)
        x.astype(np.float16).tofile(path)
        best = {}

        def note(name, wall, cpu):
            old = best.get(name, (1e9, 1e9))
            best[name] = min(old[0], wall), min(old[1], cpu)

        for _ in range(ROUNDS):
            for name, flag in (("numpy", "0"), ("numpy, product alone", "1")):
                me = [sys.executable, __file__, *map(str, (N, DIM, ROUNDS, THREADS)), "peer", path, flag]
                note(name, *json.loads(subprocess.run(me, check=True, capture_output=True, env=env).stdout))
                out = subprocess.run([BENCH, path, str(N), str(DIM), str(THREADS), tmp + "/s.f32"], check=True,
                                     capture_output=True, text=True).stdout.split()
                note("ours", *map(float, out))
        far = np.abs(np.fromfile(tmp + "/s.f32", np.float32) - np.fromfile(path + ".numpy", np.float32)).max()
        assert far < 1e-5, far
        wall, cpu = best["ours"]
        print(f"{N} x {DIM} fp16, {THREADS} threads, best of {ROUNDS}; scores differ by at most {far:.1e}")
        for name, (w, c) in best.items():
            print(f"{name:22s} wall {w:7.3f}  cpu {c:7.3f}  ours {w / wall:.2f}x (cpu {c / cpu:.2f}x)", flush=True)


if "peer" in sys.argv:
    peer(sys.argv[6], sys.argv[7] == "1")
else:
    main()
