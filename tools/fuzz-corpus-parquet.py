#!/usr/bin/env python3
"""Make tests/fuzz/corpus/parquet: small files that together use every page version, encoding, codec
and type we read. Pages carry no checksums, so that a mutation reaches the decoders."""
import datetime
import decimal
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

out = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/fuzz/corpus/parquet")
out.mkdir(parents=True, exist_ok=True)

flat = pa.table({
    "b": pa.array([True, None, False, True] * 5), "i": pa.array([1, 2, None, -4] * 5, pa.int32()),
    "l": pa.array([1, 2**60, None, -4] * 5, pa.int64()), "f": pa.array([0.5, None, 1.5, -1] * 5, pa.float32()),
    "d": pa.array([0.5, None, 1.5, -1] * 5), "s": pa.array(["abc", None, "abd", ""] * 5),
    "x": pa.array([b"abc", b"abd", b"xyz", None] * 5, pa.binary(3))})
lists = pa.table({"e": pa.array([[0.5, 1.0], None, [], [2.0, None]] * 5, pa.list_(pa.float32())),
                  "n": pa.array([{"a": 1, "b": [1.0]}, None, {"a": None, "b": None}, {"a": 2, "b": []}] * 5,
                                pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))]))})
odd = pa.table({"dec": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(30, 2)),
                "h": pa.array([1.5, None], pa.float16()), "t": pa.array([datetime.datetime(2020, 1, 1), None]),
                "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32()))})


def save(name, table, **options):
    options = {"compression": "none", "use_dictionary": False, "store_schema": False, **options}
    pq.write_table(table, out / f"{name}.parquet", **options)


for version in ("1.0", "2.0"):
    v = "v" + version[0]
    save(f"plain-{v}", flat, data_page_version=version)
    save(f"dictionary-{v}", flat, data_page_version=version, use_dictionary=True)
    save(f"lists-{v}", lists, data_page_version=version)
    save(f"pages-{v}", flat, data_page_version=version, data_page_size=1, write_batch_size=3, row_group_size=7)
    save(f"delta-{v}", flat, data_page_version=version,
         column_encoding={"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED", "s": "DELTA_LENGTH_BYTE_ARRAY",
                          "x": "DELTA_BYTE_ARRAY", "b": "RLE", "f": "BYTE_STREAM_SPLIT", "d": "BYTE_STREAM_SPLIT"})
    save(f"front-{v}", flat.select(["s"]), data_page_version=version, column_encoding={"s": "DELTA_BYTE_ARRAY"})
for codec in ("snappy", "gzip", "zstd", "lz4"):
    save(codec, flat.select(["s", "l"]), compression=codec)
save("odd", odd)
save("int96", odd.select(["t"]), use_deprecated_int96_timestamps=True, use_dictionary=True)
save("lists-dictionary", lists, use_dictionary=True)
save("empty", flat.slice(0, 0))
