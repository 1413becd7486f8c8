"""The demo: every planted fault is found under its name, nothing else is, and duplicates look alike."""
import json
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import BUILD, DARKROOM, ROOT, darkroom, tree

PLANTED = json.loads((ROOT / "demo/planted.json").read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    p = tmp_path_factory.mktemp("demo") / "place"
    darkroom("embed", ROOT / "demo/{00000..00002}.tar", p, "--model", "tiny", "--metadata", check=3)
    return p


def column(place, kind, name):
    return [v for f in sorted((place / kind).iterdir()) for v in pq.read_table(f)[name].to_pylist()]


def test_every_planted_fault_is_found(place):
    found = sorted(zip(column(place, "errors", "key"), column(place, "errors", "status")))
    want = sorted((p["key"], p["status"]) for p in PLANTED["planted"] if p["status"] != "ok")
    assert found == want and len(found) == sum(PLANTED["total"]["errors"].values())


def test_counts_close(place):
    for shard, want in PLANTED["shards"].items():
        r = json.loads((place / f"_darkroom/embed/{int(shard)}.json").read_text())
        assert (r["samples"], r["rows"], r["errors"]) == (want["samples"], want["rows"], want["errors"])


def test_captions_find_their_pictures(place):
    img = np.concatenate([np.load(f) for f in sorted((place / "img_emb").iterdir())]).astype(np.float32)
    txt = np.concatenate([np.load(f) for f in sorted((place / "text_emb").iterdir())]).astype(np.float32)
    captions = column(place, "metadata", "caption")
    first = [captions[i] for i in (txt @ img.T).argmax(1)]
    # copies share a caption, so the caption found counts, not the row; some captions are planted oddities
    assert np.mean([a == b for a, b in zip(first, captions)]) > 0.85


def test_exact_duplicates_have_cosine_one(place):
    img = np.concatenate([np.load(f) for f in sorted((place / "img_emb").iterdir())]).astype(np.float32)
    row = {k: i for i, k in enumerate(column(place, "metadata", "key"))}
    pairs = [p for p in PLANTED["planted"] if p["what"] == "exact duplicate"]
    assert len(pairs) == PLANTED["exact_duplicates"]
    for p in pairs:
        assert (img[row[p["key"]]] == img[row[p["of"]]]).all()


def test_damaged_shard_keeps_what_came_before(tmp_path):
    darkroom("embed", ROOT / "demo/damaged/00003.tar", tmp_path / "p", "--model", "tiny", check=3)
    want = PLANTED["damaged"]["00003"]
    assert len(np.load(tmp_path / "p/img_emb/img_emb_0.npy")) == want["rows"]
    assert column(tmp_path / "p", "errors", "status") == [want["status"]]


def test_demo_script(tmp_path):
    """make demo: damage and copies are found, in numbers, and the funnel says so."""
    r = subprocess.run([str(ROOT / "tools/demo"), str(DARKROOM)], capture_output=True, text=True, cwd=ROOT)
    assert r.returncode == 0, r.stdout + r.stderr
    place = ROOT / "build/demo"
    copies = {p["key"]: p["of"] for p in PLANTED["planted"] if p.get("of") and "duplicate" in p["what"]}
    removed = set(pq.read_table(place / "dedup/removed.parquet")["id"].to_pylist())
    assert len(copies) == 25 and len(removed) == 25
    assert all((a in removed) != (b in removed) or a in removed for a, b in copies.items())  # one of each pair, or both of a triple
    assert removed <= set(copies) | set(copies.values())                                     # and nothing else
    funnel = {line[:25].strip(): int(line[25:].split()[0]) for line in r.stdout[r.stdout.rindex("samples seen"):].splitlines()
              if line[25:].split() and line[25:].split()[0].lstrip("-").isdigit()}
    assert funnel["samples seen"] == 271 and funnel["embedded"] == 252
    for status, n in PLANTED["total"]["errors"].items():
        assert funnel[status] == -n
    keep = column(place, "keep", "keep")
    left = [k for k, ok in zip(column(place, "metadata", "key"), keep) if ok and k not in removed]
    assert funnel["passed the filter"] == sum(keep) and funnel["exported"] == funnel["left without duplicates"] == len(left)
    assert sum(len(pq.read_table(f)) for f in (place / "curated").glob("*.parquet")) == len(left)
    assert "removed as a duplicate of 000010014" in r.stdout and "report.html" in r.stdout
