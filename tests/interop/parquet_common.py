"""What the Parquet tests share: our tool, random tables, and comparison that tells NaN from NaN."""
import json
import math
import os
import struct
import subprocess
from pathlib import Path

TOOL = Path(os.environ.get("DARKROOM_BUILD", "build")) / "tests/interop/parquet_tool"
TYPES = ["bool", "int32", "int64", "float", "double", "string", "binary", "list<float>"]
CODECS = {"snappy": 0, "zstd": 1, "none": 2}


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def real_text(v):
    return v.hex() if math.isfinite(v) else str(v)


def wire(kind, v):
    """A value as the tool takes it."""
    if v is None:
        return None
    if kind in ("float", "double"):
        return real_text(v)
    if kind == "binary":
        return v.hex()
    if kind == "list<float>":
        return [real_text(x) for x in v]
    return v


def same(v):
    """A form in which equal values, and only they, are equal: NaN too, and the sign of zero."""
    if isinstance(v, float):
        return real_text(v)
    if isinstance(v, (list, tuple)) or type(v).__name__ == "ndarray":
        return [same(x) for x in v]
    if isinstance(v, (bytes, bytearray)):
        return bytes(v)
    return v


def write(path, columns, rows, **options):
    path = Path(path)
    lines = [json.dumps({"columns": columns, "options": options})]
    lines += [json.dumps([wire(c[1], v) for c, v in zip(columns, r)]) for r in rows]
    run = subprocess.run([TOOL, "write", path.parent, path.name], input="\n".join(lines).encode(),
                         capture_output=True)
    assert run.returncode == 0, run.stderr.decode()


def run_dump(path, batch=0, columns=()):
    return subprocess.run([TOOL, "dump", path, str(batch), *columns], capture_output=True)


def unwire(kind, v):
    if v is None:
        return None
    if kind in ("float", "double"):
        return float.fromhex(v)
    if kind == "binary":
        return bytes.fromhex(v)
    if kind == "list<float>":
        return [float.fromhex(x) for x in v]
    return v


def dump(path, batch=0, columns=()):
    """(header, rows): what our reader sees."""
    run = run_dump(path, batch, columns)
    assert run.returncode == 0, run.stderr.decode()
    lines = run.stdout.decode().splitlines()
    head = json.loads(lines[0])
    kinds = [f[1] for f in head["fields"]]
    rows = [[unwire(k, v) for k, v in zip(kinds, json.loads(line))] for line in lines[1:]]
    assert len(rows) == head["rows"]
    return head, rows


WORDS = ["", "a", "ü", "€", "😀", "null", "\0", "\n", "~", "\ud7ff", "\ue000", "\U0010ffff", "x" * 63]


def random_value(rng, kind, style):
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "int32":
        return rng.randrange(7) if style else rng.choice([-2**31, 2**31 - 1, rng.randrange(-2**31, 2**31)])
    if kind == "int64":
        return rng.randrange(300) if style else rng.choice([-2**63, 2**63 - 1, rng.randrange(-2**63, 2**63)])
    if kind == "float":
        return rng.choice([f32(rng.gauss(0, 1)), math.inf, -math.inf, math.nan, 0.0, -0.0, f32(1e-45)])
    if kind == "double":
        return rng.choice([rng.gauss(0, 1), math.inf, math.nan, 0.0, -0.0, 5e-324, 1.7976931348623157e308])
    if kind == "string":
        if style:
            return rng.choice(WORDS)
        return "".join(rng.choice(WORDS) for _ in range(rng.randrange(12))) * rng.choice([1, 1, 1, 1, 40])
    if kind == "binary":
        return b"\xff" * rng.randrange(90) if style else rng.randbytes(rng.randrange(30))
    n = rng.choice([0, 1, 3, 8]) if style else 16
    return [rng.choice([f32(rng.gauss(0, 1)), math.nan, -0.0]) for _ in range(n)]


def random_table(rng, rows):
    """(columns, rows): one to ten columns of any types; some repeat much, some are all null."""
    columns, styles = [], []
    for i in range(rng.randrange(1, 11)):
        name = rng.choice(["col", "ü", "a b", "x.y", "😀", "0"]) + str(i)
        columns.append([name, rng.choice(TYPES), rng.random() < 0.6])
        styles.append((rng.random() < 0.5, rng.choice([0, 0.01, 0.3, 1.0])))
    table = [[None if c[2] and rng.random() < nulls else random_value(rng, c[1], style)
              for c, (style, nulls) in zip(columns, styles)] for _ in range(rows)]
    return columns, table
