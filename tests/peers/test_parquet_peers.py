"""Parquet against polars, duckdb and pandas, as readers and as writers."""
import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "interop"))
from parquet_common import dump, f32, random_table, same, write  # noqa: E402

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

POLARS = {"bool": pl.Boolean, "int32": pl.Int32, "int64": pl.Int64, "float": pl.Float32, "double": pl.Float64,
          "string": pl.String, "binary": pl.Binary, "list<float>": pl.List(pl.Float32)}
DUCK = {"bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
        "string": "VARCHAR", "binary": "BLOB", "list<float>": "FLOAT[]"}


def table_of(seed, rows=None):
    rng = random.Random(seed)
    columns, data = random_table(rng, rng.choice([0, 1, 9, 300, 1200]) if rows is None else rows)
    return rng, columns, data


def frame_of(columns, rows):
    return pl.DataFrame([pl.Series(c[0], [r[i] for r in rows], POLARS[c[1]], strict=False)
                         for i, c in enumerate(columns)])


def write_random(path, rng, columns, rows):
    write(path, columns, rows, codec=rng.randrange(3), row_group_rows=rng.choice([0, 7, 100]),
          page_bytes=rng.choice([0, 1, 500]), no_dictionary=rng.randrange(2))


# ---- they read ours ----

@pytest.mark.parametrize("seed", range(15))
def test_polars_reads_ours(tmp_path, seed):
    rng, columns, rows = table_of(seed)
    write_random(tmp_path / "t.parquet", rng, columns, rows)
    frame = pl.read_parquet(tmp_path / "t.parquet")
    assert frame.schema == {c[0]: POLARS[c[1]] for c in columns}
    assert same([list(r) for r in frame.rows()]) == same(rows)


@pytest.mark.parametrize("seed", range(15))
def test_duckdb_reads_ours(tmp_path, seed):
    rng, columns, rows = table_of(1000 + seed)
    write_random(tmp_path / "t.parquet", rng, columns, rows)
    con = duckdb.connect()
    types = [r[1] for r in con.execute(f"DESCRIBE SELECT * FROM '{tmp_path / 't.parquet'}'").fetchall()]
    assert types == [DUCK[c[1]] for c in columns]
    got = con.execute(f"SELECT * FROM '{tmp_path / 't.parquet'}'")
    assert same([list(r) for r in got.fetchall()]) == same(rows)


@pytest.mark.parametrize("seed", range(5))
def test_pandas_reads_ours(tmp_path, seed):
    rng, columns, rows = table_of(2000 + seed, 200)
    write_random(tmp_path / "t.parquet", rng, columns, rows)
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert list(frame.columns) == [c[0] for c in columns] and len(frame) == 200
    for i, c in enumerate(columns):
        if c[1] in ("string", "binary"):
            got = [None if v is None or v is pd.NA or v != v else v for v in frame[c[0]]]
            assert got == [r[i] for r in rows]


def test_filters_use_our_statistics(tmp_path):
    rows = [[i, f"{i:05d}" + "é" * 40, f32(i / 7)] for i in range(5000)]
    path = tmp_path / "t.parquet"
    write(path, [["id", "int64", True], ["s", "string", False], ["x", "float", True]], rows, row_group_rows=250)
    con = duckdb.connect()
    for where, want in [("id >= 4990", 10), (f"s = '{rows[77][1]}'", 1), ("s < '00100'", 100), ("id IS NULL", 0),
                        ("x > 700", sum(r[2] > 700 for r in rows))]:
        assert con.execute(f"SELECT count(*) FROM '{path}' WHERE {where}").fetchone()[0] == want
    lazy = pl.scan_parquet(path)
    assert lazy.filter(pl.col("id") >= 4990).collect().height == 10
    assert lazy.filter(pl.col("s") == rows[77][1]).collect().height == 1
    assert lazy.filter(pl.col("s") < "00100").collect().height == 100


# ---- we read theirs ----

@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4"])
def test_we_read_polars(tmp_path, codec):
    for seed in range(4):
        rng, columns, rows = table_of(f"{codec}{seed}")
        frame_of(columns, rows).write_parquet(tmp_path / "t.parquet", compression=codec,
                                              row_group_size=rng.choice([None, 100]),
                                              data_page_size=rng.choice([None, 300]), statistics=rng.random() < 0.5)
        head, got = dump(tmp_path / "t.parquet", rng.choice([0, 17]))
        assert head["skipped"] == []
        assert same(got) == same(rows)


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"])
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_we_read_duckdb(tmp_path, codec, version):
    con = duckdb.connect()
    for seed in range(3):
        rng, columns, rows = table_of(f"{codec}{version}{seed}")
        frame = frame_of(columns, rows).to_arrow()  # duckdb takes it by name
        assert frame.num_rows == len(rows)
        con.execute(f"COPY (SELECT * FROM frame) TO '{tmp_path / 't.parquet'}' (FORMAT parquet, CODEC '{codec}', "
                    f"PARQUET_VERSION {version}, ROW_GROUP_SIZE {rng.choice([2048, 122880])})")
        head, got = dump(tmp_path / "t.parquet", rng.choice([0, 17]))
        assert head["skipped"] == []
        assert same(got) == same(rows)


def test_duckdb_types_and_encodings(tmp_path):
    """Sorted integers and long strings make duckdb's V2 writer use its delta encodings."""
    con = duckdb.connect()
    path = tmp_path / "t.parquet"
    con.execute(f"""COPY (SELECT i AS id, 'https://host/' || (i * 7919) AS url, i / 3.0::DOUBLE AS x,
        (i % 100)::DECIMAL(9,2) / 4 AS dec, i::UTINYINT % 7 AS t, (i * 2.5)::FLOAT AS f,
        DATE '2024-01-01' + (i % 30)::INT AS day, i % 3 = 0 AS even, uuid() AS u, NULL::INT AS nothing
        FROM range(20000) r(i)) TO '{path}' (FORMAT parquet, PARQUET_VERSION V2)""".replace("i::UTINYINT % 7", "(i % 7)::UTINYINT"))
    used = {e for r in con.execute(f"SELECT encodings FROM parquet_metadata('{path}')").fetchall() for e in r[0].split(", ")}
    head, rows = dump(path)
    assert head["skipped"] == [], used
    names = [f[0] for f in head["fields"]]
    assert names == ["id", "url", "x", "dec", "t", "f", "day", "even", "u", "nothing"]
    want = con.execute(f"SELECT id, url, x, dec::DOUBLE, t, f, (day - DATE '1970-01-01')::INT, even, u, nothing FROM '{path}'").fetchall()
    for g, w in zip(rows, want):
        assert g[:8] == list(w[:8]) and g[8] == w[8].bytes and g[9] is None


def test_pandas_writes(tmp_path):
    frame = pd.DataFrame({"url": ["a", None, "c"], "n": [1, 2, 3], "x": [0.5, math.nan, 1.5], "ok": [True, False, True],
                          "emb": [[0.5, 1.0], [2.0, 3.0], None]}, index=[5, 6, 7])
    frame.to_parquet(tmp_path / "t.parquet")
    head, rows = dump(tmp_path / "t.parquet")
    assert [f[0] for f in head["fields"]] == ["url", "n", "x", "ok", "emb", "__index_level_0__"]
    assert [r[0] for r in rows] == ["a", None, "c"] and [r[4] for r in rows] == [[0.5, 1.0], [2.0, 3.0], None]
    assert rows[1][2] is None or math.isnan(rows[1][2])
