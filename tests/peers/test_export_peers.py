"""What export writes, read by those who will: pandas, polars and duckdb the tables, webdataset the tars, row beside sample."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from conftest import darkroom, sample, write_tar  # noqa: E402
from export_world import embed, export  # noqa: E402

pd = pytest.importorskip("pandas")
wds = pytest.importorskip("webdataset")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    d = tmp_path_factory.mktemp("world")
    (d / "shards").mkdir()
    for s in range(3):
        write_tar(d / f"shards/{s:05d}.tar", [sample(20 * s + i) for i in range(20)])
    embed(d / "shards", d / "place", "--metadata")
    darkroom("score", d / "place", "--head", "aesthetic", check=0)
    darkroom("filter", d / "place", "--where", "n % 3 != 1", check=0)
    export(d / "shards", d / "place", d / "out", "--samples-per-shard", 16, "--renumber", "--with-embedding")
    return d


def test_rows_beside_samples(out):
    tables = [pd.read_parquet(p) for p in sorted((out / "out").glob("*.parquet"))]
    assert [len(t) for t in tables] == [16, 16, 8]
    for t, tar in zip(tables, sorted((out / "out").glob("*.tar"))):
        samples = list(wds.WebDataset(str(tar), shardshuffle=False))
        assert [s["__key__"] for s in samples] == t["key"].tolist()
        assert [s["txt"].decode() for s in samples] == t["caption"].tolist()
    whole = pd.concat(tables)
    assert whole["n"].tolist() == [n for n in range(60) if n % 3 != 1]
    assert whole["old_key"].tolist() == [f"{n:09d}" for n in range(60) if n % 3 != 1]
    assert whole["aesthetic_score"].dtype == np.float32
    vectors = np.stack(whole["image_embedding"])
    want = np.concatenate([np.load(out / f"place/img_emb/img_emb_{p}.npy") for p in range(3)])
    assert vectors.dtype == np.float32 and np.array_equal(vectors, want[[n for n in range(60) if n % 3 != 1]].astype(np.float32))


def test_polars_and_duckdb(out):
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    t = pl.read_parquet(str(out / "out/*.parquet"))
    assert t.height == 40 and t["image_embedding"].dtype == pl.List(pl.Float32)
    got = duckdb.connect().execute(f"select count(*), max(len(image_embedding)), min(key) from '{out}/out/*.parquet'").fetchone()
    assert got == (40, len(t["image_embedding"][0]), "0000000")
