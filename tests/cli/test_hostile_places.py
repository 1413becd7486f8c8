"""Places that lie: receipts edited by hand, copies that are not whole, files of others where we would write."""
import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import darkroom, sample, write_tar


@pytest.fixture
def place(shards, tmp_path):
    darkroom("embed", shards, tmp_path / "place", "--model", "tiny", check=0)
    return tmp_path / "place"


def edit(path, **values):
    about = json.loads(path.read_text())
    about.update(values)
    path.write_text(json.dumps(about))


@pytest.mark.parametrize("rows", [2**63 - 1, 2**40, 1000000])
def test_receipts_that_claim_rows(place, rows):
    edit(place / "_darkroom/embed/1.json", rows=rows, samples=rows)
    for verb in (["export", "--list"], ["report"], ["dedup", "--clusters", "2"], ["filter", "--where", "width > 1"]):
        r = darkroom(*verb[:1], place, *verb[1:])
        assert r.returncode in (0, 3, 4, 7), (verb, r.returncode)
        assert "claims more rows than there are" in r.stderr


def test_a_folder_that_is_not_whole(place, tmp_path):
    for kind in ("img_emb", "metadata"):
        shutil.copytree(place / kind, tmp_path / "copy" / kind)
    darkroom("filter", tmp_path / "copy", "--where", "1 < 2", check=0)
    os.unlink(tmp_path / "copy/img_emb/img_emb_1.npy")
    r = darkroom("filter", tmp_path / "copy", "--where", "1 < 2", check=3)
    assert "metadata_1.parquet has no embeddings beside it" in r.stderr


def test_curate_leaves_the_shards_of_others_alone(shards, tmp_path):
    (tmp_path / "c.yaml").write_text("embedding: {model_name: tiny}\n")
    (tmp_path / "p/curated").mkdir(parents=True)
    (tmp_path / "p/curated/00000.tar").write_text("mine")
    darkroom("curate", tmp_path / "c.yaml", shards, tmp_path / "p", check=7)
    assert (tmp_path / "p/curated/00000.tar").read_text() == "mine"


def test_repeated_keys_do_not_lead_in_circles(tmp_path):
    (tmp_path / "s").mkdir()
    for s in range(4):
        write_tar(tmp_path / f"s/{s}.tar", [(f"{i % 3}{'abcd'[s]}"[0], sample(i % 2)[1]) for i in range(3)])
    darkroom("embed", tmp_path / "s", tmp_path / "p", "--model", "tiny", check=0)
    darkroom("dedup", tmp_path / "p", "--clusters", "1", "--eps", "0.05", check=0)
    darkroom("report", tmp_path / "p", check=0, timeout=20)
    r = darkroom("explain", tmp_path / "p", "0", check=0, timeout=20)
    assert "duplicate of" in r.stdout


def test_a_column_of_another_type(place):
    darkroom("filter", place, "--where", "width > 1", check=0)
    keep = place / "keep/keep_0.parquet"
    t = pq.read_table(keep)
    size = keep.stat().st_size
    pq.write_table(t.set_column(0, "keep", pa.array(["x"] * len(t))), keep)
    edit(place / "_darkroom/filter/0.json", outputs=[{"name": "keep/keep_0.parquet", "size": keep.stat().st_size, "sha256": "0" * 64}])
    assert keep.stat().st_size != size
    r = darkroom("dedup", place, "--kept-only", "--clusters", "1")
    assert r.returncode in (4, 7) and ("holds string, not bool" in r.stderr or "keep" in r.stderr)


def test_lists_that_are_all_null(tmp_path):
    (tmp_path / "n").mkdir()
    pq.write_table(pa.table({"key": ["a", "b"], "image_embedding": pa.array([None, None], pa.list_(pa.float32()))}), tmp_path / "n/00000.parquet")
    darkroom("score", tmp_path / "n", "--head", "aesthetic", check=4)  # which head would fit?


def test_temporary_files_do_not_follow_links(place, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (place / "keep").mkdir()
    host, pid = os.uname().nodename, os.getpid()
    for n in range(1, 400):
        os.symlink(victim, place / f"keep/keep_0.parquet.{host}.{pid + n}.tmp")
    darkroom("filter", place, "--where", "width > 1", check=0)
    assert victim.read_text() == "mine"
