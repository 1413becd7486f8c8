#!/usr/bin/env python3
"""Scores of stored embeddings: `darkroom score` beside torch, interleaved, CPU seconds, best of N.

    python bench/score.py [ROWS] [ROUNDS]          needs torch, numpy, pyarrow

ROWS x 768 float16 in two partitions, as clip-retrieval leaves them, in the page cache; heads of
the published shapes with random weights. Both sides read the files, scale rows to length 1, run
the head and write a parquet file; torch on two threads, 8,192 rows at a time, started and warm
before the clock runs; ours from the start of the process. A ratio above 1 means that ours needs
less CPU. The last column is the largest difference between the two."""
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
import pyarrow.parquet as pq
import torch
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
DARKROOM = Path(os.environ.get("DARKROOM_BUILD", ROOT / "build")) / "darkroom"
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
sys.path.insert(0, str(ROOT / "tools/golden"))
import make_heads  # noqa: E402
torch.set_num_threads(2)


def aesthetic():
    return make_heads.Layers(nn.Linear(768, 1024), nn.Dropout(0.2), nn.Linear(1024, 128), nn.Dropout(0.2),
                             nn.Linear(128, 64), nn.Dropout(0.1), nn.Linear(64, 16), nn.Linear(16, 1))


def nsfw():
    net = make_heads.Nsfw(768)
    net.linear_1, net.linear_2 = nn.Linear(768, 64), nn.Linear(64, 512)
    net.linear_3, net.linear_4 = nn.Linear(512, 256), nn.Linear(256, 1)
    return net


def write_place(place):
    (place / "img_emb").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for p in range(2):
        x = rng.standard_normal((ROWS // 2, 768), np.float32)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        np.save(place / f"img_emb/img_emb_{p}.npy", x.astype(np.float16))


def ours(place, heads):
    shutil.rmtree(place / "_darkroom", ignore_errors=True)
    shutil.rmtree(place / "scores", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [w for n in heads for w in ("--head", f"{n}={place.parent / n}.pth")]
    subprocess.run([DARKROOM, "score", place, "-q", "--threads", "2", *words], check=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


def theirs(place, heads, nets):
    start = time.process_time()
    (place / "theirs").mkdir(exist_ok=True)
    with torch.inference_mode():
        for p in range(2):
            x = np.load(place / f"img_emb/img_emb_{p}.npy", mmap_mode="r")
            columns = {n: np.empty(len(x), np.float32) for n in heads}
            for i in range(0, len(x), 8192):
                rows = F.normalize(torch.from_numpy(x[i:i + 8192].astype(np.float32)))
                for n in heads:
                    columns[n][i:i + 8192] = nets[n](rows)[:, 0].numpy()
            pq.write_table(pa.table({f"{n}_score": c for n, c in columns.items()}), place / f"theirs/{p}.parquet")
    return time.process_time() - start


def difference(place, heads):
    far = 0
    for p in range(2):
        a, b = pq.read_table(place / f"scores/scores_{p}.parquet"), pq.read_table(place / f"theirs/{p}.parquet")
        for n in heads:
            far = max(far, np.abs(a[f"{n}_score"].to_numpy() - b[f"{n}_score"].to_numpy()).max())
    return far


def main():
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as d:
        place = Path(d) / "place"
        write_place(place)
        nets = {"aesthetic": aesthetic(), "nsfw": nsfw()}
        torch.manual_seed(0)
        for n, net in nets.items():
            torch.save(make_heads.randomize(net).state_dict(), Path(d) / f"{n}.pth")
        print(f"{ROWS} rows, CPU seconds, best of {ROUNDS}\n{'heads':18} {'ours':>7} {'torch':>7} {'ratio':>6} {'differ':>8}")
        for heads in (["aesthetic"], ["nsfw"], ["aesthetic", "nsfw"]):
            theirs(place, heads, nets)
            best = [min(t) for t in zip(*((ours(place, heads), theirs(place, heads, nets)) for _ in range(ROUNDS)))]
            print(f"{'+'.join(heads):18} {best[0]:7.2f} {best[1]:7.2f} {best[1] / best[0]:6.2f} "
                  f"{difference(place, heads):8.1e}", flush=True)


if __name__ == "__main__":
    main()
