"""What the picture tests share: our program behind a pipe, Pillow's preparation restated with
numpy for the crop (so that only Pillow is needed), and pictures of every kind."""
import io
import os
import struct
import subprocess
import zlib

import numpy as np
from PIL import Image

BUILD = os.environ.get("DARKROOM_BUILD", "build")
TOOL = os.path.join(BUILD, "tests", "interop", "prep_tool")
CROP, SQUASH = 0, 1
BICUBIC, BILINEAR = 0, 1
MODE_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "LA": 4, "RGB": 4, "RGBA": 4, "CMYK": 4}


class Bad(Exception):
    def __init__(self, line):
        self.status, self.text = line[4:].split(": ", 1)
        super().__init__(line)


class Tool:
    """prep_tool running; isa forces an instruction set."""

    def __init__(self, isa=None, build=None):
        env = dict(os.environ)
        if isa: env["DARKROOM_ISA"] = isa
        tool = os.path.join(build, "tests", "interop", "prep_tool") if build else TOOL
        self.p = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def ask(self, line, data=b""):
        self.p.stdin.write(line.encode() + b"\n" + data)
        self.p.stdin.flush()
        answer = self.p.stdout.readline().decode().rstrip("\n")
        if not answer: raise RuntimeError(f"prep_tool died: {self.p.wait()}")
        if answer.startswith("bad"): raise Bad(answer)
        return answer.split()[1:]

    def read(self, n):
        data = self.p.stdout.read(n)
        assert len(data) == n
        return data

    def prep(self, data, size=224, fit=CROP, filter=BICUBIC, floor=0, rgb_first=0, white=0, exif=0, keep=0):
        head = self.ask(f"prep {size} {fit} {filter} {floor} {rgb_first} {white} {exif} {keep} {len(data)}", data)
        self.info = (int(head[0]), int(head[1]), head[2], int(head[3]))
        return np.frombuffer(self.read(size * size * 3), np.uint8).reshape(size, size, 3)

    def decode(self, data, keep=0):
        w, h, mode, orient, damaged, n = self.ask(f"decode {keep} {len(data)}", data)
        self.orientation, self.damaged = int(orient), int(damaged)
        w, h = int(w), int(h)
        px = np.frombuffer(self.read(int(n)), np.uint8).reshape(h, w, MODE_BYTES[mode])
        self.palette = np.frombuffer(self.read(1024), np.uint8).reshape(256, 4)[:, :3] if mode == "P" else None
        return mode, px

    def encode(self, rgb):
        n, = self.ask(f"encode {rgb.shape[1]} {rgb.shape[0]}", np.ascontiguousarray(rgb).tobytes())
        return self.read(int(n))

    def lut(self, mean, std):
        self.ask("lut " + " ".join(repr(float(v)) for v in (*mean, *std)))
        return np.frombuffer(self.read(3 * 256 * 4), np.float32).reshape(3, 256)

    def close(self):
        self.p.stdin.close()
        assert self.p.wait() == 0


def crop_offset(margin, floor):
    return margin // 2 if floor else int(round(margin / 2.0))


def pillow_prep(im, size=224, fit=CROP, filter=BICUBIC, floor=0, rgb_first=0, white=0, exif=0):
    """The rule of torchvision Resize + CenterCrop + convert("RGB") on a PIL image."""
    if exif:
        from PIL import ImageOps
        im = ImageOps.exif_transpose(im)
    if white and ("A" in im.getbands() or im.info.get("transparency") is not None):
        im = im.convert("RGBA")
        im = Image.alpha_composite(Image.new("RGBA", im.size, (255, 255, 255, 255)), im)
    if rgb_first: im = im.convert("RGB")
    w, h = im.size
    if fit == SQUASH: W = H = size
    elif w <= h: W, H = size, int(size * h / w)
    else: W, H = int(size * w / h), size
    if (W, H) != (w, h):
        im = im.resize((W, H), Image.BICUBIC if filter == BICUBIC else Image.BILINEAR)
    l, t = crop_offset(W - size, floor), crop_offset(H - size, floor)
    return np.asarray(im.crop((l, t, l + size, t + size)).convert("RGB"))


def pillow_pixels(im):
    """Mode and pixels as prep_tool's decode gives them."""
    im.load()
    a = np.asarray(im)
    if im.mode == "1": a = a.astype(np.uint8) * 255
    if im.mode == "I;16": return im.mode, a.astype("<u2").view(np.uint8).reshape(*a.shape, 2)
    if im.mode == "LA": a = a[..., [0, 0, 0, 1]]
    return im.mode, a.reshape(a.shape[0], a.shape[1], -1)


# Pictures. A seeded scene with smooth parts, edges and noise, so that a shifted or badly rounded
# pixel shows.
def scene(rng, w, h, channels):
    y, x = np.mgrid[0:h, 0:w]
    out = np.empty((h, w, channels))
    for c in range(channels):
        a, b, p = rng.uniform(0.01, 0.7, 3)
        out[..., c] = 127 + 90 * np.sin(a * x + p) * np.cos(b * y) + 60 * (((x // 7 + y // 5) % 2) - 0.5)
    out += rng.normal(0, 12, out.shape)
    return np.clip(out, 0, 255).astype(np.uint8)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def pack_rows(a, depth):
    """[h, w, c] samples -> packed rows of bytes."""
    h, w, c = a.shape
    if depth == 16: return a.astype(">u2").tobytes(), w * c * 2
    if depth == 8: return a.astype(np.uint8).tobytes(), w * c
    bits = np.unpackbits(a.astype(np.uint8)[..., None], axis=-1)[..., 8 - depth:].reshape(h, -1)
    rows = np.packbits(bits, axis=1)
    return rows.tobytes(), rows.shape[1]


def filtered(raw, row, bpp, rng):
    """Every row under a random PNG filter."""
    out, prev = bytearray(), np.zeros(row, int)
    for i in range(0, len(raw), row):
        cur = np.frombuffer(raw[i:i + row], np.uint8).astype(int)
        left = np.concatenate([np.zeros(min(bpp, row), int), cur[:-bpp]])[:row]
        ul = np.concatenate([np.zeros(min(bpp, row), int), prev[:-bpp]])[:row]
        kind = int(rng.integers(5))
        p = left + prev - ul
        pa, pb, pc = abs(p - left), abs(p - prev), abs(p - ul)
        paeth = np.where((pa <= pb) & (pa <= pc), left, np.where(pb <= pc, prev, ul))
        pred = [0, left, prev, (left + prev) // 2, paeth][kind]
        out.append(kind)
        out += ((cur - pred) & 255).astype(np.uint8).tobytes()
        prev = cur
    return bytes(out)


def png(rng, samples, colour, depth, interlace=False, palette=None, extra=b""):
    """A PNG of any colour type and depth; samples are [h, w, channels]."""
    h, w, c = samples.shape
    bpp = max(1, c * depth // 8)
    data = b""
    parts = [samples[y0::dy, x0::dx] for x0, y0, dx, dy in PASSES] if interlace else [samples]
    for part in parts:
        if part.size: data += filtered(*pack_rows(part, depth), bpp, rng)
    z = zlib.compress(data, 6)
    cut = len(z) // 2
    body = chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, int(interlace))) + extra
    if palette is not None: body += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IDAT", z[:cut]) + chunk(b"IDAT", z[cut:]) + chunk(b"IEND", b"")


def png_kinds():
    for colour, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            for interlace in (False, True): yield colour, depth, interlace


def any_png(rng, w, h, colour, depth, interlace):
    c = CHANNELS[colour]
    s = scene(rng, w, h, c).astype(int)
    if depth == 16: s = s * 257 + rng.integers(0, 256, s.shape)
    elif depth < 8: s = s >> (8 - depth)
    palette = None
    if colour == 3:
        n = max(1, (1 << depth) - int(rng.integers(0, 1 << (depth - 1))))
        s = np.minimum(s, n - 1)
        palette = rng.integers(0, 256, (n, 3))
    if depth == 16 and colour == 0 and rng.integers(2): s = s // 200     # values around the clip at 255
    return png(rng, s, colour, depth, interlace, palette)


def bmp(rng, w, h, bits, header=40, top_down=False, compression=0, masks=None, palette=None, rows=None):
    """A BMP from random pixels (or given row data)."""
    stride = ((w * bits + 31) // 32) * 4
    data = rng.integers(0, 256, (h, stride), dtype=np.uint8).tobytes() if rows is None else rows
    if header == 12: dib = struct.pack("<IHHHH", 12, w, h, 1, bits)
    else:
        colors = 0 if palette is None else len(palette)
        dib = struct.pack("<IiiHHIIiiII", header, w, -h if top_down else h, 1, bits, compression, len(data), 2835, 2835, colors, 0)
        tail = b"".join(struct.pack("<I", m) for m in masks or ())
        if header > 40: dib += tail[:header - 40].ljust(header - 40, b"\0")
        else: dib += tail
    pal = b""
    if palette is not None:
        for r, g, b in palette: pal += bytes((b, g, r)) + (b"" if header == 12 else b"\0")
    off = 14 + len(dib) + len(pal)
    return b"BM" + struct.pack("<IHHI", off + len(data), 0, 0, off) + dib + pal + data


def saved(im, fmt, **kw):
    b = io.BytesIO()
    im.save(b, fmt, **kw)
    return b.getvalue()
