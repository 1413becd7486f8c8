"""Parquet against pyarrow: what we write it reads, what it writes we read."""
import datetime
import decimal
import itertools
import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from parquet_common import (CODECS, TYPES, dump, f32, random_table, random_value, run_dump, same,  # noqa: E402
                            write)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ARROW = {"bool": pa.bool_(), "int32": pa.int32(), "int64": pa.int64(), "float": pa.float32(),
         "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
         "list<float>": pa.list_(pa.field("element", pa.float32()))}


def table_rows(table):
    return [list(r) for r in zip(*[c.to_pylist() for c in table.columns])]


def arrow_table(columns, rows):
    arrays = [pa.array([r[i] for r in rows], ARROW[c[1]]) for i, c in enumerate(columns)]
    fields = [pa.field(c[0], ARROW[c[1]], nullable=c[2]) for c in columns]
    return pa.table(arrays, schema=pa.schema(fields))


def random_options(rng):
    return {"codec": rng.choice(list(CODECS.values())), "row_group_rows": rng.choice([0, 1, 7, 100]),
            "row_group_bytes": rng.choice([0, 3000]), "page_bytes": rng.choice([0, 1, 200, 5000]),
            "no_dictionary": rng.choice([0, 0, 1]), "metadata": rng.choice([0, 1])}


# ---- written by us ----

@pytest.mark.parametrize("seed", range(40))
def test_pyarrow_reads_ours(tmp_path, seed):
    rng = random.Random(seed)
    columns, rows = random_table(rng, rng.choice([0, 1, 2, 9, 64, 300, 1500]))
    options = random_options(rng)
    write(tmp_path / "t.parquet", columns, rows, **options)
    file = pq.ParquetFile(tmp_path / "t.parquet", page_checksum_verification=True)
    table = file.read()
    table.validate(full=True)
    assert table.schema.remove_metadata() == pa.schema([pa.field(n, ARROW[t], nullable=bool(z)) for n, t, z in columns])
    assert same(table_rows(table)) == same(rows)
    check_statistics(file.metadata, columns, rows)
    if options["metadata"]:
        assert table.schema.metadata == {b"origin": b"parquet_tool", b"empty": b""}
    head, back = dump(tmp_path / "t.parquet", rng.choice([0, 1, 5, 1000]))
    assert same(back) == same(rows)
    assert head["fields"] == [[n, t, int(z), 0] for n, t, z in columns]


def check_statistics(meta, columns, rows):
    start = 0
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        part = rows[start:start + group.num_rows]
        start += group.num_rows
        for i, (_, kind, _) in enumerate(columns):
            stats = group.column(i).statistics
            if kind == "list<float>":
                continue
            values = [r[i] for r in part if r[i] is not None]
            assert stats.null_count == len(part) - len(values)
            ordered = [v for v in values if v == v]
            if kind == "string":
                ordered = [v.encode() for v in ordered]
            if not stats.has_min_max:
                endless = kind in ("string", "binary") and max(ordered, default=b"")[:1] in (b"\xf4", b"\xff")
                assert not ordered or endless  # nothing short lies above ff ff ff ...
                continue
            low, high = stats.min, stats.max
            if kind == "string":
                low, high = low.encode(), high.encode()
            assert all(low <= v <= high for v in ordered)
            if kind not in ("string", "binary"):
                assert (low, high) == (min(ordered), max(ordered))
            elif max(map(len, ordered)) <= 64:
                assert (low, high) == (min(ordered), max(ordered))
            assert len(low) <= 64 and len(high) <= 68 if kind in ("string", "binary") else True
    assert start == len(rows)


def test_statistics_allow_filters(tmp_path):
    columns = [["id", "int64", True], ["s", "string", True], ["x", "float", True]]
    rows = [[i, f"{i:05d}" + "é" * 40, float(i % 97)] for i in range(5000)]
    write(tmp_path / "t.parquet", columns, rows, row_group_rows=250, page_bytes=1000)
    for f in [("id", ">=", 4990), ("s", "==", rows[1234][1]), ("s", "<", "00100"), ("x", "==", 96.0)]:
        got = pq.read_table(tmp_path / "t.parquet", filters=[f])
        key = {"id": 0, "s": 1, "x": 2}[f[0]]
        op = {">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "<": lambda a, b: a < b}[f[1]]
        assert got.num_rows == sum(op(r[key], f[2]) for r in rows)


def test_dictionary_and_plain_are_chosen(tmp_path):
    columns = [["few", "string", True], ["many", "string", True], ["n", "int32", False],
               ["u", "int64", False], ["e", "list<float>", False]]
    rng = random.Random(5)
    rows = [[f"status_{i % 7}", f"https://host/{rng.random()}/{i}", i % 50, rng.randrange(2**62),
             [f32(rng.gauss(0, 1)) for _ in range(8)]] for i in range(20000)]
    write(tmp_path / "t.parquet", columns, rows)
    group = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0)
    encodings = ["RLE_DICTIONARY" in group.column(i).encodings for i in range(5)]
    assert encodings == [True, False, True, False, False]
    assert group.column(4).compression == "UNCOMPRESSED"  # random floats do not shrink
    assert same(table_rows(pq.read_table(tmp_path / "t.parquet"))) == same(rows)


def test_dictionary_overflow(tmp_path):
    """Repeats enough to start a dictionary, then passes its size limit."""
    rows = [["x" * 100 + str(i // 3 if i < 4000 else i)] for i in range(30000)]
    write(tmp_path / "t.parquet", [["s", "string", True]], rows, codec=1)
    group = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0)
    assert "RLE_DICTIONARY" not in group.column(0).encodings
    assert table_rows(pq.read_table(tmp_path / "t.parquet")) == rows
    assert dump(tmp_path / "t.parquet")[1] == rows


def test_same_rows_same_bytes(tmp_path):
    columns, rows = random_table(random.Random(8), 700)
    for name in "ab":
        write(tmp_path / name, columns, rows, row_group_rows=100)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_long_strings_and_many_groups(tmp_path):
    rows = [["ü" * n, b"\xff" * n] for n in (0, 1, 31, 32, 33, 100000, 700000)] * 2
    write(tmp_path / "t.parquet", [["s", "string", False], ["b", "binary", False]], rows, row_group_rows=2)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.metadata.num_row_groups == 7
    assert table_rows(file.read()) == rows
    assert dump(tmp_path / "t.parquet")[1] == rows
    assert file.metadata.serialized_size < 8000  # bounds are cut


def test_pandas_dtypes(tmp_path):
    pd = pytest.importorskip("pandas")
    columns = [[t, t, True] for t in TYPES]
    rows = [[True, 1, 2, 0.5, 0.25, "a", b"b", [1.0]], [False, 3, 4, 1.5, 1.25, "c", b"d", []]]
    write(tmp_path / "t.parquet", columns, rows)
    frame = pd.read_parquet(tmp_path / "t.parquet")
    kinds = [str(k) for k in frame.dtypes]
    assert kinds[:5] == ["bool", "int32", "int64", "float32", "float64"] and kinds[6:] == ["object"] * 2
    assert list(frame["string"]) == ["a", "c"] and list(frame["list<float>"][0]) == [1.0]


# ---- written by pyarrow ----

MATRIX = list(itertools.product(["none", "snappy", "gzip", "zstd", "lz4"], ["1.0", "2.0"], [True, False]))


@pytest.mark.parametrize("seed,codec,version,dictionary", [(i, *m) for i, m in enumerate(MATRIX)])
def test_we_read_pyarrow(tmp_path, seed, codec, version, dictionary):
    rng = random.Random(100 + seed)
    for n in (0, 1, 50, 1200):
        columns, rows = random_table(rng, n)
        pq.write_table(arrow_table(columns, rows), tmp_path / "t.parquet", compression=codec,
                       data_page_version=version, use_dictionary=dictionary,
                       row_group_size=rng.choice([1000000, 333, 100]), data_page_size=rng.choice([1 << 20, 300]),
                       write_page_checksum=rng.random() < 0.5, dictionary_pagesize_limit=rng.choice([1 << 20, 500]),
                       use_compliant_nested_type=rng.random() < 0.5, write_page_index=rng.random() < 0.5,
                       version=rng.choice(["1.0", "2.4", "2.6"]), write_batch_size=rng.choice([1024, 10]))
        head, got = dump(tmp_path / "t.parquet", rng.choice([0, 1, 13, 700]))
        assert head["skipped"] == []
        assert [f[0] for f in head["fields"]] == [c[0] for c in columns]
        assert same(got) == same(rows)


ENCODINGS = {"bool": ["PLAIN", "RLE"], "int32": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "int64": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "float": ["PLAIN", "BYTE_STREAM_SPLIT"], "double": ["PLAIN", "BYTE_STREAM_SPLIT"],
             "string": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
             "binary": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]}


@pytest.mark.parametrize("kind,encoding", [(k, e) for k, es in ENCODINGS.items() for e in es])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_encodings(tmp_path, kind, encoding, version):
    rng = random.Random(f"{kind}{encoding}")
    for n, nulls, style in itertools.product((1, 33, 2000), (0, 0.2, 1), (0, 1)):
        columns = [["c", kind, nulls > 0]]
        rows = [[None if rng.random() < nulls else random_value(rng, kind, style)] for _ in range(n)]
        if style and kind in ("int32", "int64"):
            rows.sort(key=lambda r: r[0] or 0)
        pq.write_table(arrow_table(columns, rows), tmp_path / "t.parquet", use_dictionary=False,
                       column_encoding={"c": encoding}, data_page_version=version,
                       data_page_size=rng.choice([300, 1 << 20]), compression=rng.choice(["none", "zstd"]))
        found = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column(0).encodings
        assert encoding in found
        assert same(dump(tmp_path / "t.parquet", rng.choice([0, 7]))[1]) == same(rows)


def test_every_codec_is_real(tmp_path):
    rows = [["abc" * 50]] * 1000
    for codec, name in [("snappy", "SNAPPY"), ("gzip", "GZIP"), ("zstd", "ZSTD"), ("lz4", "LZ4")]:
        pq.write_table(arrow_table([["s", "string", True]], rows), tmp_path / "t.parquet", compression=codec,
                       use_dictionary=False)
        assert pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column(0).compression == name
        assert dump(tmp_path / "t.parquet")[1] == rows


def days(d):
    return (d - datetime.date(1970, 1, 1)).days


def logical_cases():
    day = datetime.date(2024, 2, 29)
    stamp = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
    us = int((stamp - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    time = datetime.time(12, 30, 15, 123000)
    ms = ((12 * 60 + 30) * 60 + 15) * 1000 + 123
    D = decimal.Decimal
    yield "i8", pa.int8(), [-128, 127], [-128, 127], "int32", 0
    yield "i16", pa.int16(), [-32768, 32767], [-32768, 32767], "int32", 0
    yield "u8", pa.uint8(), [0, 255], [0, 255], "int32", 0
    yield "u16", pa.uint16(), [0, 65535], [0, 65535], "int32", 0
    yield "u32", pa.uint32(), [0, 2**32 - 1], [0, 2**32 - 1], "int64", 0
    yield "u64", pa.uint64(), [0, 2**64 - 1], [0, 2**64 - 1], "int64", 1
    yield "f16", pa.float16(), [1.5, -0.0, 6e-8, 65504.0, math.inf], None, "float", 0
    yield "date", pa.date32(), [day], [days(day)], "int32", 2
    yield "t_ms", pa.time32("ms"), [time], [ms], "int32", 3
    yield "t_us", pa.time64("us"), [time], [ms * 1000], "int64", 4
    yield "t_ns", pa.time64("ns"), [time], [ms * 1000000], "int64", 5
    yield "s_ms", pa.timestamp("ms"), [stamp.replace(microsecond=123000)], [us // 1000], "int64", 6
    yield "s_us", pa.timestamp("us", "UTC"), [stamp], [us], "int64", 7
    yield "s_ns", pa.timestamp("ns"), [stamp], [us * 1000], "int64", 8
    yield "d_int", pa.decimal128(18, 0), [D(10**18 - 1), D(-5)], [10**18 - 1, -5], "int64", 9
    yield "d_small", pa.decimal128(5, 2), [D("123.45"), D("-0.01")], [123.45, -0.01], "double", 9
    yield "d_mid", pa.decimal128(15, 3), [D("123456789012.345")], [123456789012.345], "double", 9
    yield "d_big", pa.decimal128(38, 10), [D("-1234567890123456789012345678.9012345678"), D("0.1")], \
        [float("-1234567890123456789012345678.9012345678"), 0.1], "double", 9
    yield "fixed", pa.binary(3), [b"abc", b"\0\xff\0"], [b"abc", b"\0\xff\0"], "binary", 0
    yield "large", pa.large_string(), ["a", "ü"], ["a", "ü"], "string", 0
    yield "view", pa.string_view(), ["a", "ü"], ["a", "ü"], "string", 0
    yield "cat", pa.dictionary(pa.int32(), pa.string()), ["x", "y", "x"], ["x", "y", "x"], "string", 0
    yield "nulls", pa.null(), [None, None], [None, None], "int32", 0
    yield "l64", pa.list_(pa.float64()), [[0.5, 1 / 3], []], [[0.5, f32(1 / 3)], []], "list<float>", 0
    yield "l16", pa.list_(pa.float16()), [[0.5]], [[0.5]], "list<float>", 0
    yield "big_list", pa.large_list(pa.float32()), [[0.5], [1.5, None]], [[0.5], [1.5, math.nan]], "list<float>", 0
    yield "fsl", pa.list_(pa.float32(), 2), [[0.5, 1.0], [2.0, 3.0]], [[0.5, 1.0], [2.0, 3.0]], "list<float>", 0


@pytest.mark.parametrize("case", list(logical_cases()), ids=lambda c: c[0])
@pytest.mark.parametrize("dictionary", [True, False])
def test_logical_types(tmp_path, case, dictionary):
    name, kind, values, want, ours, meaning = case
    values, want = values + [None], (want or values) + [None]
    pq.write_table(pa.table({name: pa.array(values, kind)}), tmp_path / "t.parquet", use_dictionary=dictionary)
    head, rows = dump(tmp_path / "t.parquet")
    assert head["fields"] == [[name, ours, 1, meaning]]
    if name == "f16":
        want = [None if v is None else float(pa.scalar(v, kind).as_py()) for v in want]
    assert same(rows) == same([[v] for v in want])


def test_decimals_as_integers_and_int96(tmp_path):
    D = decimal.Decimal
    table = pa.table({"d": pa.array([D("1.25"), None, D("-9.99")], pa.decimal128(3, 2)),
                      "t": pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None,
                                     datetime.datetime(2038, 1, 19)], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "t.parquet", store_decimal_as_integer=True,
                   use_deprecated_int96_timestamps=True)
    head, rows = dump(tmp_path / "t.parquet")
    assert rows == [[1.25, -1000], [None, None], [-9.99, 2147472000 * 10**9]]
    assert head["fields"][1][3] == 8


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_structs_and_what_is_skipped(tmp_path, version):
    inner = pa.struct([("b", pa.int32()), ("c", pa.struct([pa.field("d", pa.string(), False)])),
                       ("e", pa.list_(pa.float32()))])
    table = pa.table({
        "a": pa.array([{"b": 1, "c": {"d": "x"}, "e": [1.0, None]}, {"b": None, "c": None, "e": None}, None,
                       {"b": 4, "c": {"d": ""}, "e": []}], inner),
        "m": pa.array([[("k", 1)], None, [], []], pa.map_(pa.string(), pa.int32())),
        "ll": pa.array([[[1.0]], None, [], [[]]], pa.list_(pa.list_(pa.float32()))),
        "ls": pa.array([["x"], None, [], []], pa.list_(pa.string())),
        "lst": pa.array([[{"p": 1.0, "q": 2.0}], None, [], []],
                        pa.list_(pa.struct([("p", pa.float32()), ("q", pa.float32())]))),
        "z": pa.array([1, 2, 3, 4])})
    pq.write_table(table, tmp_path / "t.parquet", data_page_version=version)
    head, rows = dump(tmp_path / "t.parquet")
    assert [f[0] for f in head["fields"]] == ["a.b", "a.c.d", "a.e", "z"]
    assert same(rows) == same([[1, "x", [1.0, math.nan], 1], [None, None, None, 2], [None, None, None, 3],
                               [4, "", [], 4]])
    assert head["skipped"] == ["m: a map", "ll: a list of lists", "ls: a list of something other than floats",
                               "lst: a list of structs"]
    assert same(dump(tmp_path / "t.parquet", 2, ["z", "a.e"])[1]) == same([[r[3], r[2]] for r in rows])


def test_brotli_is_skipped_by_name(tmp_path):
    table = pa.table({"a": [1, 2], "b": ["x" * 100, "y" * 100]})
    pq.write_table(table, tmp_path / "t.parquet", compression={"a": "snappy", "b": "brotli"})
    head, rows = dump(tmp_path / "t.parquet")
    assert head["skipped"] == ["b: compressed with brotli"] and rows == [[1], [2]]


def test_img2dataset_sidecar(tmp_path):
    """A row group for every hundred rows, as img2dataset's buffered writer makes them."""
    schema = pa.schema([("caption", pa.string()), ("url", pa.string()), ("key", pa.string()), ("status", pa.string()),
                        ("error_message", pa.string()), ("width", pa.int32()), ("height", pa.int32()),
                        ("original_width", pa.int32()), ("original_height", pa.int32()), ("exif", pa.string()),
                        ("sha256", pa.string())])
    rng = random.Random(3)
    rows = []
    for i in range(1050):
        good = rng.random() < 0.8
        rows.append([f"caption {i} ü", f"http://h/{i}.jpg", f"{i:09d}", "success" if good else "failed_to_download",
                     None if good else "<urlopen error>"] + ([256, 256, 640, 480, "{}", f"{i:064x}"] if good else [None] * 6))
    with pq.ParquetWriter(tmp_path / "00000.parquet", schema) as w:
        for at in range(0, len(rows), 100):
            part = rows[at:at + 100]
            w.write_table(pa.table([pa.array([r[i] for r in part], f.type) for i, f in enumerate(schema)], schema=schema))
    head, got = dump(tmp_path / "00000.parquet")
    assert got == rows
    assert dump(tmp_path / "00000.parquet", 64, ["key", "status"])[1] == [[r[2], r[3]] for r in rows]


@pytest.mark.parametrize("fixed", [True, False])
def test_nemo_embeddings(tmp_path, fixed):
    np = pytest.importorskip("numpy")
    emb = np.random.default_rng(1).standard_normal((300, 768)).astype(np.float32)
    kind = pa.list_(pa.float32(), 768) if fixed else pa.list_(pa.float32())
    table = pa.table({"id": pa.array(range(300)), "image_embedding": pa.array(list(emb), kind),
                      "aesthetic_score": pa.array(emb[:, 0])})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=128)
    _, rows = dump(tmp_path / "t.parquet", 50, ["image_embedding", "id"])
    assert np.array_equal(np.array([r[0] for r in rows], np.float32), emb)
    columns = [["id", "int64", False], ["image_embedding", "list<float>", False]]
    write(tmp_path / "o.parquet", columns, [[i, [float(x) for x in e]] for i, e in enumerate(emb)])
    back = pq.read_table(tmp_path / "o.parquet")["image_embedding"].to_numpy()
    assert np.array_equal(np.stack(back), emb)


def test_wide_table(tmp_path):
    columns = [[f"c{i}", TYPES[i % 7], True] for i in range(250)]
    rng = random.Random(4)
    rows = [[random_value(rng, c[1], 1) for c in columns] for _ in range(20)]
    write(tmp_path / "o.parquet", columns, rows)
    assert same(table_rows(pq.read_table(tmp_path / "o.parquet"))) == same(rows)
    pq.write_table(arrow_table(columns, rows), tmp_path / "t.parquet")
    assert same(dump(tmp_path / "t.parquet")[1]) == same(rows)


# ---- damage ----

def test_not_parquet(tmp_path):
    for data, why in [(b"", "not a Parquet file"), (b"PAR1", "not a Parquet file"), (b"x" * 100, "not a Parquet file"),
                      (b"PAR1" + b"x" * 100, "cut short"), (b"PAR1" + b"\xff" * 20 + b"PAR1", "longer than the file"),
                      (b"PAR1" + b"\0" * 20 + b"PARE", "encrypted")]:
        (tmp_path / "t").write_bytes(data)
        run = run_dump(tmp_path / "t")
        assert run.returncode == 1 and why in run.stderr.decode()


def test_flipped_bit_is_noticed(tmp_path):
    """With page checksums, no flipped bit of a page body passes."""
    rng = random.Random(11)
    rows = [[i, f"text {rng.random()}", [f32(rng.random())] * 3] for i in range(400)]
    write(tmp_path / "t.parquet", [["i", "int64", True], ["s", "string", True], ["e", "list<float>", True]], rows,
          page_bytes=2000)
    data = (tmp_path / "t.parquet").read_bytes()
    column = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column
    noticed = 0
    for _ in range(60):
        c = column(rng.randrange(3))
        start = c.dictionary_page_offset or c.data_page_offset
        at = start + rng.randrange(c.total_compressed_size)
        bad = bytearray(data)
        bad[at] ^= 1 << rng.randrange(8)
        (tmp_path / "bad").write_bytes(bad)
        run = run_dump(tmp_path / "bad")
        assert run.returncode in (0, 1)
        noticed += run.returncode == 1
    assert noticed >= 55  # a flip inside a page header may change nothing that matters
