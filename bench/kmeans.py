"""k-means beside faiss, scikit-learn and superkmeans: the same rows, interleaved.

    python bench/kmeans.py [N] [DIM] [K] [ROUNDS] [THREADS]
    needs build/bench/kmeans_bench (make build/bench/kmeans_bench), numpy, scikit-learn;
    faiss-cpu and superkmeans where installed (pip install faiss-cpu superkmeans)

Rows look like CLIP's: 2K directions in a cone, weights 1/rank^0.7, noise so that neighbours overlap,
unit length. ours, faiss and scikit-learn start from the same K rows and do 10 rounds; superkmeans
picks its own start, so it is compared by the time that ours, from random rows of its own, takes to
its inertia. The inertia of everybody's centroids is computed here, in double. faiss runs with
OPENBLAS_CORETYPE=SkylakeX, as its OpenBLAS may not know the CPU. Wall and CPU seconds, best of
ROUNDS; above 1: ours is faster. A last part shows that the cost is linear in N."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N, DIM, K, ROUNDS, THREADS = [int(a) for a in sys.argv[1:6]] + [100_000, 512, 1000, 3, 2][len(sys.argv[1:6]):]
ITERS = 10
BENCH = Path(os.environ.get("DARKROOM_BUILD", "build")) / "bench/kmeans_bench"


def make(n, dim, k):
    r = np.random.default_rng(7)
    c = r.standard_normal((2 * k, dim), dtype=np.float32)
    c /= np.linalg.norm(c, axis=1, keepdims=True)
    cone = r.standard_normal(dim).astype(np.float32)
    c += 0.5 * cone / np.linalg.norm(cone)
    p = 1 / np.arange(1, 2 * k + 1) ** 0.7
    x = c[r.choice(2 * k, n, p=p / p.sum())]
    for i in range(0, n, 20000):
        x[i:i + 20000] += r.standard_normal(x[i:i + 20000].shape, dtype=np.float32) * np.float32(0.7 / dim ** 0.5)
    return np.ascontiguousarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def inertia(x, c):
    s, cc = 0.0, (c.astype(np.float64) ** 2).sum(1)
    for i in range(0, len(x), 10000):
        b = x[i:i + 10000]
        near = (cc - 2 * (b @ c.T).astype(np.float64)).min(1)
        s += (near + (b.astype(np.float64) ** 2).sum(1)).sum()
    return s


def peer(name, folder):
    """Runs in a process of its own; prints wall and CPU seconds, rounds, inertia."""
    x = np.fromfile(folder / "x.f32", np.float32).reshape(-1, DIM)
    start = np.fromfile(folder / "start.f32", np.float32).reshape(-1, DIM)
    rounds = ITERS
    wall, cpu = time.perf_counter(), time.process_time()
    if name == "faiss":
        import faiss
        faiss.omp_set_num_threads(THREADS)
        km = faiss.Kmeans(DIM, K, niter=ITERS, max_points_per_centroid=10**9, min_points_per_centroid=1)
        km.train(x, init_centroids=start)
        c = km.centroids
    elif name == "scikit-learn":
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits
        with threadpool_limits(THREADS):
            km = KMeans(K, init=start, n_init=1, max_iter=ITERS, tol=0, copy_x=False).fit(x)
        c, rounds = km.cluster_centers_, km.n_iter_
    else:
        from superkmeans import SuperKMeans
        km = SuperKMeans(K, DIM, hierarchical=False, iters=ITERS, sampling_fraction=1.0, max_points_per_cluster=10**6,
                         n_threads=THREADS, early_termination=False, tol=0.0)
        c = np.asarray(km.train(x))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "rounds": rounds, "inertia": inertia(x, c.astype(np.float32))}))


def run_peer(name, folder):
    env = dict(os.environ, OMP_NUM_THREADS=str(THREADS), OPENBLAS_CORETYPE="SkylakeX")
    if name != "faiss":
        del env["OPENBLAS_CORETYPE"]
    me = [sys.executable, "-W", "ignore", __file__, *map(str, (N, DIM, K, ROUNDS, THREADS)), "peer", name, str(folder)]
    r = subprocess.run(me, capture_output=True, text=True, env=env)
    if r.returncode:
        print(f"{name}: skipped ({(r.stderr.strip() or 'failed').splitlines()[-1]})", flush=True)
        return None
    return json.loads(r.stdout.strip().splitlines()[-1])


def ours(folder, rows="x.f32", kind="f32", n=N, start="start.f32", iters=ITERS, target=None, more=()):
    text = subprocess.run([BENCH, folder / rows, kind, str(n), str(DIM), folder / start, str(K), str(iters), "0",
                           str(THREADS), folder / "c.f32", *more], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    whole = lines[-1]
    if target is None:
        return {"wall": float(whole[2]), "cpu": float(whole[4]), "rounds": int(whole[6])}
    wall = cpu = 0.0  # until the centroids are at least as good
    for line in lines[:-1]:
        wall, cpu = wall + float(line[3]), cpu + float(line[5])
        if float(line[7]) <= target:
            return {"wall": wall, "cpu": cpu, "rounds": int(line[1])}
    return None


def best(runs, key):
    return min(r[key] for r in runs)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        x = make(N, DIM, K)
        x.tofile(folder / "x.f32")
        x.astype(np.float16).tofile(folder / "x.f16")
        x[np.random.default_rng(1).choice(N, K, replace=False)].tofile(folder / "start.f32")
        x[np.random.default_rng(2).choice(N, K, replace=False)].tofile(folder / "start2.f32")
        got = {}
        for _ in range(ROUNDS):
            for name in ("faiss", "scikit-learn", "superkmeans"):
                r = run_peer(name, folder)
                if r:
                    got.setdefault(name, []).append(r)
                r = ours(folder)
                if "ours" not in got:
                    r["inertia"] = inertia(x, np.fromfile(folder / "c.f32", np.float32).reshape(K, DIM))
                got.setdefault("ours", []).append(r)
            got.setdefault("ours, every distance", []).append(ours(folder, more=("no-bounds",)))
            got.setdefault("ours, f16", []).append(ours(folder, rows="x.f16", kind="f16"))
            if "superkmeans" in got:
                target = got["superkmeans"][0]["inertia"]
                r = ours(folder, start="start2.f32", iters=60, target=target)
                if r:
                    got.setdefault("ours to superkmeans' inertia", []).append(r)
        print(f"{N} x {DIM}, K {K}, {THREADS} threads; seconds of 10 rounds, best of {ROUNDS}")
        mine = got["ours"]
        for name, runs in got.items():
            per = best(runs, "wall") / runs[0]["rounds"]
            line = f"{name:30s} wall {best(runs, 'wall'):7.3f}  cpu {best(runs, 'cpu'):7.3f}  per round {per:.3f}  "
            line += f"{2e-9 * N * K * DIM / per:6.0f} GFLOP/s  "
            line += f"inertia {runs[0]['inertia']:.1f}  " if "inertia" in runs[0] else " " * 18
            if name in ("faiss", "scikit-learn"):
                per_mine = best(mine, "wall") / mine[0]["rounds"]
                cpu = best(runs, "cpu") / runs[0]["rounds"] / best(mine, "cpu") * mine[0]["rounds"]
                line += f"ours {per / per_mine:.2f}x (cpu {cpu:.2f}x)"
            if name == "superkmeans" and "ours to superkmeans' inertia" in got:
                to = got["ours to superkmeans' inertia"]
                line += f"ours {best(runs, 'wall') / best(to, 'wall'):.2f}x to its inertia ({to[0]['rounds']} rounds)"
                line += f" (cpu {best(runs, 'cpu') / best(to, 'cpu'):.2f}x)"
            print(line, flush=True)
        half = min(ours(folder, n=N // 2)["wall"] for _ in range(ROUNDS))
        print(f"N/2 rows: {half:.3f} s, all: {best(mine, 'wall'):.3f} s = {best(mine, 'wall') / half:.2f}x", flush=True)


if "peer" in sys.argv:
    peer(sys.argv[7], Path(sys.argv[8]))
else:
    main()
