#!/usr/bin/env python3
"""darkroom filter beside pandas and duckdb: 1 M rows of scores and sizes, four rules, the verdict and
the first rule that failed written as Parquet. CPU seconds of whole processes, interleaved, best of N.
usage: bench/filter.py [rows] [rounds]"""
import os, resource, shutil, subprocess, sys, tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
DARKROOM = ROOT / "build" / "darkroom"
RULES = ["aesthetic_score >= 6", "nsfw_score <= 0.2", "min(width, height) >= 256", "aspect <= 3"]

PANDAS = """
import glob, os, sys
import numpy as np, pandas as pd
for f in sorted(glob.glob(sys.argv[1] + "/metadata/*.parquet")):
    d = pd.read_parquet(f, columns=["aesthetic_score", "nsfw_score", "width", "height"])
    side, long = d[["width", "height"]].min(axis=1), d[["width", "height"]].max(axis=1)
    rules = [("aesthetic_score >= 6", d.eval("aesthetic_score >= 6")), ("nsfw_score <= 0.2", d.eval("nsfw_score <= 0.2")),
             ("min(width, height) >= 256", side >= 256), ("aspect <= 3", long / side <= 3)]
    reason = np.select([~r for _, r in rules], [t for t, _ in rules], "")
    pd.DataFrame({"keep": reason == "", "reason": reason}).to_parquet(os.path.join(sys.argv[2], os.path.basename(f)))
"""
DUCKDB = """
import glob, os, sys, duckdb
c = duckdb.connect()
c.execute("set threads = 2")
for f in sorted(glob.glob(sys.argv[1] + "/metadata/*.parquet")):
    out = os.path.join(sys.argv[2], os.path.basename(f))
    c.execute(f'''copy (select reason = '' as keep, reason from (select case
        when not coalesce(aesthetic_score >= 6::float, false) then 'aesthetic_score >= 6'
        when not coalesce(nsfw_score <= 0.2::float, false) then 'nsfw_score <= 0.2'
        when not coalesce(least(width, height) >= 256, false) then 'min(width, height) >= 256'
        when not coalesce(greatest(width, height) / least(width, height) <= 3, false) then 'aspect <= 3'
        else '' end as reason from read_parquet('{f}'))) to '{out}' (format parquet)''')
"""


def make(place, rows, parts=10):
    rng = np.random.default_rng(1)
    (place / "metadata").mkdir(parents=True)
    for p in range(parts):
        n = rows // parts
        words = np.array(["a", "red", "dog", "on", "the", "beach", "photo", "of", "old", "house"])
        captions = [" ".join(w) for w in words[rng.integers(0, 10, (n, 8))]]
        pq.write_table(pa.table({
            "image_path": pa.array([f"{p:05d}{i:06d}" for i in range(n)]), "caption": pa.array(captions),
            "width": pa.array(rng.integers(64, 2048, n)), "height": pa.array(rng.integers(64, 2048, n)),
            "aesthetic_score": pa.array(rng.normal(6, 1.2, n).astype("float32"), mask=rng.random(n) < 0.01),
            "nsfw_score": pa.array(rng.beta(0.5, 3, n).astype("float32"), mask=rng.random(n) < 0.01)}),
            place / "metadata" / f"metadata_{p}.parquet")


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reasons(folder):
    """The reason of every row, without the remark about null, which the peers do not make."""
    column = pa.concat_tables([pq.read_table(f, columns=["reason"]) for f in sorted(folder.glob("*.parquet"))])["reason"]
    return [r.removesuffix(": null") for r in column.cast(pa.string()).to_pylist()]


def main():
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    work = Path(tempfile.mkdtemp(prefix="filter-"))
    place, out = work / "place", work / "out"
    make(place, rows)
    where = [x for r in RULES for x in ("--where", r)]
    python, ours = sys.executable, [DARKROOM, "filter", place, "-q"]
    runs = {"darkroom": [*ours, *where], "pandas": [python, "-c", PANDAS, place, out], "duckdb": [python, "-c", DUCKDB, place, out],
            "darkroom, dry run": [*ours, "-n", *where],
            "darkroom, a pattern too": [*ours, "-n", *where, "--where", r"not matches(caption, '(?i)\\b(stock|old) photo\\b')"],
            "python, its imports": [python, "-c", "import pandas, pyarrow.parquet"]}
    best, why = dict.fromkeys(runs, 1e9), {}
    for _ in range(rounds):
        for name, command in runs.items():
            for d in (out, place / "keep", place / "_darkroom"):
                shutil.rmtree(d, ignore_errors=True)
            out.mkdir()
            best[name] = min(best[name], cpu([str(c) for c in command]))
            if name in ("darkroom", "pandas", "duckdb") and name not in why:
                why[name] = reasons(out if name != "darkroom" else place / "keep")
    assert why["darkroom"] == why["pandas"] == why["duckdb"]
    for name, s in best.items():
        print(f"{name:24s} {s:7.3f} s CPU for {rows:,} rows")
    print(f"pandas / darkroom {best['pandas'] / best['darkroom']:.1f}x, duckdb / darkroom {best['duckdb'] / best['darkroom']:.1f}x")
    shutil.rmtree(work)


main()
