"""Some 260 pictures that are cut, bent, or far larger than they look: none ends the program, none
takes its memory or its time, every one has a row or a reason."""
import os
import struct
import subprocess
import time
import zlib

import numpy as np
import pyarrow.parquet as pq
from conftest import DARKROOM, ROOT, picture, write_tar

FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP"}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(w, h, depth=8, colour=2, extra=b"", body=b""):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def jpeg_of_size(w, h):
    """A small JPEG whose header claims another size."""
    data = bytearray(picture(1))
    at = data.index(b"\xff\xc0")
    struct.pack_into(">HH", data, at + 5, h, w)
    return bytes(data)


def sized():
    """The header lies about the size: up to 65535 on a side, or zero."""
    for w, h in [(65535, 65535), (32768, 32768), (65535, 1), (1, 65535), (10001, 10000), (20000, 20000), (0, 10)]:
        yield "jpg", jpeg_of_size(w, h)
        for depth, colour in [(8, 2), (16, 6), (1, 0), (8, 3)]:
            yield "png", png(w, h, depth, colour, body=zlib.compress(bytes(1 << 16)))
        yield "bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, w, h, 1, 24, 0, 0, 0, 0, 0, 0)
        yield "gif", b"GIF89a" + struct.pack("<HHBBB", w, h, 0x80, 0, 0) + bytes(6) + b"," + \
            struct.pack("<HHHHB", 0, 0, w, h, 0) + b"\x02\x02\x4c\x01\x00;"
        yield "webp", b"RIFF" + struct.pack("<I", 30) + b"WEBPVP8X" + struct.pack("<II", 10, 0) + \
            (max(w, 1) - 1).to_bytes(3, "little") + (max(h, 1) - 1).to_bytes(3, "little") + b"VP8 " + bytes(4)


def inflating():
    """Few bytes that become many."""
    yield "png", png(9000, 9000, body=zlib.compress(bytes(27 * 9000 * 1000), 9))       # whole and flat: a real picture
    yield "png", png(100, 100, body=zlib.compress(bytes(200 << 20), 9))                # more rows than it has
    yield "png", png(64, 64, extra=chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(100 << 20), 9)), body=b"")
    yield "png", png(64, 64, extra=chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(100 << 20), 9)) * 8, body=b"")
    base = picture(2, quality=30, progressive=True)
    scan = base[base.index(b"\xff\xda"):-2]
    yield "jpg", base[:-2] + scan * 2000 + b"\xff\xd9"                                  # endless scans
    yield "jpg", base[:2] + b"\xff\xfe\xff\xff" * 1 + bytes(65533) + base[2:]           # a long comment
    yield "gif", picture(3, fmt="GIF")[:-1] + b"!\xfe\xff" + b"\xff" * 255 * 4000       # comments without end


def bent(rng):
    for ext, fmt in FORMATS.items():
        whole = picture(7, fmt=fmt)
        for cut in np.linspace(1, len(whole) - 1, 18).astype(int):
            yield ext, whole[:cut]
        for _ in range(18):
            data = bytearray(whole)
            for at in rng.integers(0, len(data), rng.integers(1, 40)):
                data[at] = rng.integers(0, 256)
            yield ext, bytes(data)


def corpus():
    return [*sized(), *inflating(), *bent(np.random.default_rng(24))]


def measure(shard, place):
    """Exit code, seconds and peak memory in MiB of one run on one thread."""
    start = time.monotonic()
    p = subprocess.Popen([str(DARKROOM), "embed", str(shard), str(place), "--model", "tiny", "--threads", "1",
                          "--max-bad", "100%", "-q"], env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
    _, status, usage = os.wait4(p.pid, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - start, usage.ru_maxrss / 1024


def test_bombs(tmp_path):
    files = corpus()
    assert len(files) >= 200
    write_tar(tmp_path / "good.tar", [(f"{i:03}", {"jpg": picture(i), "txt": b"x"}) for i in range(len(files))])
    write_tar(tmp_path / "bad.tar", [(f"{i:03}", {e: d, "txt": b"x"}) for i, (e, d) in enumerate(files)])
    _, _, quiet = measure(tmp_path / "good.tar", tmp_path / "good")
    code, seconds, peak = measure(tmp_path / "bad.tar", tmp_path / "bad")
    errors = pq.read_table(tmp_path / "bad/errors/errors_0.parquet").to_pydict()
    rows = pq.read_table(tmp_path / "bad/metadata/metadata_0.parquet").num_rows
    print(f"{len(files)} files: {rows} rows, {len(errors['key'])} errors, {seconds:.1f} s, {peak:.0f} MiB, good ones {quiet:.0f}")
    assert code == 0
    assert rows + len(errors["key"]) == len(files)
    assert len(errors["key"]) > 150 and set(errors["status"]) <= {"corrupt", "truncated", "too_large", "unsupported", "empty"}
    assert peak < 512 + 64  # the bound that --memory has by default


def test_each_bomb_is_quick(tmp_path):
    """The worst ones alone: printed with their time, bounded in memory."""
    for i, (ext, data) in enumerate(inflating()):
        write_tar(tmp_path / f"{i}.tar", [("k", {ext: data, "txt": b"x"})])
        code, seconds, peak = measure(tmp_path / f"{i}.tar", tmp_path / f"p{i}")
        print(f"{ext} {len(data)} bytes: {seconds:.2f} s, {peak:.0f} MiB")
        assert code == 0
        assert peak < 512 + 64
