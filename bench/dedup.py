"""darkroom dedup over a synthetic place: the whole run, another eps, and memory.

usage: dedup.py [--rows 1000000] [--dim 64] [--partitions 100] [--rounds 3]
Prints:
  whole      seconds, CPU seconds and peak resident size of the first run (k-means, pairs, lists)
  eps        CPU seconds of another eps, beside pandas + pyarrow that read the same sidecars, split the rows
             by the same threshold and write the same two lists; interleaved, best of the rounds, and the ratio
  dry run    CPU seconds of a table of three eps
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BUILD = os.environ.get("DARKROOM_BUILD", "build")
DARKROOM = os.path.join(BUILD, "darkroom")
DATA = "build/bench-data"


def make(rows, dim, parts):
    """Directions around rows/50 centres; one row in ten is a near copy of the one before it."""
    place = os.path.join(DATA, f"dedup-{rows}-{dim}-{parts}")
    shutil.rmtree(place, ignore_errors=True)
    for d in ("img_emb", "metadata"):
        os.makedirs(os.path.join(place, d))
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(max(1, rows // 50), dim)).astype(np.float32)
    n, digits = rows // parts, len(str(parts))
    for p in range(parts):
        x = centres[rng.integers(0, len(centres), n)] + 0.6 * rng.normal(size=(n, dim)).astype(np.float32)
        copies = np.arange(10, n, 10)
        x[copies] = x[copies - 1] + 0.02 * rng.normal(size=(len(copies), dim)).astype(np.float32)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        np.save(f"{place}/img_emb/img_emb_{p:0{digits}d}.npy", x.astype(np.float16))
        keys = [f"{p:05d}{i:05d}" for i in range(n)]
        pq.write_table(pa.table({"key": keys}), f"{place}/metadata/metadata_{p:0{digits}d}.parquet")
    return place


def run(*args):
    """(wall, CPU, peak MiB) of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.time()
    p = subprocess.Popen([*map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = p.communicate()
    if p.returncode:
        sys.exit(out + err)
    wall = time.time() - t
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


PEER = """
import sys, glob, pyarrow as pa, pyarrow.parquet as pq
import pandas as pd
place, eps, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
tables = []
for p, (a, m) in enumerate(zip(sorted(glob.glob(place + "/dedup/assign_*.parquet")),
                               sorted(glob.glob(place + "/metadata/*.parquet")))):
    t = pq.read_table(a).to_pandas()
    t.insert(0, "id", pq.read_table(m, columns=["key"])["key"].to_pandas())
    t.insert(1, "part", p)
    t.insert(2, "row", range(len(t)))
    tables.append(t)
t = pd.concat(tables, ignore_index=True)
gone = t["cosine_sim_score"] >= 1 - eps
t[gone].to_parquet(out + "/removed.parquet", index=False)
t[~gone].to_parquet(out + "/kept.parquet", index=False)
"""


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--rows", type=int, default=1000000)
    a.add_argument("--dim", type=int, default=64)
    a.add_argument("--partitions", type=int, default=100)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--memory", default="512M")
    o = a.parse_args()
    place = make(o.rows, o.dim, o.partitions)
    size = sum(os.path.getsize(os.path.join(place, "img_emb", f)) for f in os.listdir(os.path.join(place, "img_emb")))
    wall, cpu, rss = run(DARKROOM, "dedup", place, "--eps", 0.05, "--memory", o.memory)
    k = len(np.load(f"{place}/dedup/centroids.npy", mmap_mode="r"))
    print(f"whole: {o.rows} x {o.dim} ({size >> 20} MiB), {k} clusters: {wall:.1f} s, {cpu:.1f} s of CPU, peak {rss:.0f} MiB")
    ours, theirs = [], []
    peer_out = os.path.join(DATA, "dedup-peer")
    os.makedirs(peer_out, exist_ok=True)
    for i in range(o.rounds):
        eps = 0.01 * (i + 1)
        ours.append(run(DARKROOM, "dedup", place, "--eps", eps)[1])
        theirs.append(run(sys.executable, "-c", PEER, place, eps, peer_out)[1])
        kept, removed = (pq.read_metadata(f"{peer_out}/{n}.parquet").num_rows for n in ("kept", "removed"))
        with open(f"{place}/dedup/summary.csv") as f:
            line = f.read().split("\n")[1].split(",")
        assert [int(line[1]), int(line[2])] == [kept, removed], (line, kept, removed)
    print(f"eps: {min(ours):.2f} s of CPU, pandas + pyarrow {min(theirs):.2f} s, ratio {min(theirs) / min(ours):.1f}"
          f" (median {statistics.median(ours):.2f} and {statistics.median(theirs):.2f})")
    dry = min(run(DARKROOM, "dedup", place, "--eps", "0.01,0.05,0.1", "--dry-run")[1] for _ in range(o.rounds))
    print(f"dry run: {dry:.2f} s of CPU for three eps")


main()
