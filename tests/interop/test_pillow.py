"""src/image against Pillow: modes and pixels of every format, and the preparation, bit for bit.

The resize is proven on decoded pixels (PNG and BMP hold them exactly). The JPEG path is proven in
two steps, so that a Pillow with another libjpeg-turbo proves as much as one with ours: the
prepared pixels must equal Pillow's preparation of the pixels we decode, always; and what we decode
must equal what Pillow decodes, whenever its libjpeg is the one we link to. `tools/pillow-same-jpeg`
makes such a Pillow and runs this file with it."""
import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, features

from prep_peer import *

SIZES = [(1, 1), (1, 37), (41, 1), (3, 2), (16, 16), (17, 31), (97, 64), (64, 97), (224, 224), (225, 224),
         (301, 127), (90, 411), (500, 333), (333, 500)]


@pytest.fixture(scope="module")
def tool():
    t = Tool()
    yield t
    t.close()


def options(rng):
    return dict(size=int(rng.choice([7, 32, 64, 224])), fit=int(rng.integers(2)), filter=int(rng.integers(2)),
                floor=int(rng.integers(2)), **[dict(), dict(rgb_first=1), dict(rgb_first=1, white=1)][int(rng.integers(3))])


def opened(data):
    return Image.open(io.BytesIO(data))


def check(tool, data, rng, rounds=3, **fixed):
    """Pixels, mode and palette as Pillow opens them; then the preparation under random options."""
    im = opened(data)
    mode, want = pillow_pixels(im)
    got_mode, got = tool.decode(data)
    assert got_mode == mode
    channels = min(want.shape[2], got.shape[2]) if mode in ("RGB",) else want.shape[2]
    assert np.array_equal(got[..., :channels], want[..., :channels])
    if mode == "P": assert np.array_equal(tool.palette[got[..., 0]], np.asarray(im.convert("RGB")))
    for _ in range(rounds):
        o = {**options(rng), **fixed}
        assert np.array_equal(tool.prep(data, **o), pillow_prep(opened(data), **o)), (im.mode, im.size, o)


@pytest.mark.parametrize("colour,depth,interlace", list(png_kinds()))
def test_png(tool, colour, depth, interlace):
    rng = np.random.default_rng([1, colour, depth, interlace])
    for w, h in SIZES:
        check(tool, any_png(rng, w, h, colour, depth, interlace), rng)


def test_png_palette_with_transparency(tool):
    rng = np.random.default_rng(2)
    for trns in (b"\xff\x00\xff", b"\x10\x80\xff\x00", b"\x00"):
        s = rng.integers(0, 16, (61, 83, 1))
        z = zlib.compress(filtered(*pack_rows(s, 4), 1, rng))
        data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 83, 61, 4, 3, 0, 0, 0)) +
                chunk(b"PLTE", rng.integers(0, 256, (16, 3)).astype(np.uint8).tobytes()) + chunk(b"tRNS", trns) +
                chunk(b"IDAT", z) + chunk(b"IEND", b""))
        check(tool, data, rng)


@pytest.mark.parametrize("colour,depth", [(0, 1), (0, 2), (0, 8), (0, 16), (2, 8), (2, 16)])
def test_png_colour_key(tool, colour, depth):
    rng = np.random.default_rng([27, colour, depth])
    s = rng.integers(0, min(1 << depth, 300), (31, 40, CHANNELS[colour]))
    for key in (s[3, 4], s[0, 0], s[0, 0] * 0 + 1):
        trns = b"".join(struct.pack(">H", int(v)) for v in key)
        s[5:20, 5:20] = key
        # png() writes extra chunks before PLTE, which is where a key belongs without a palette
        check(tool, png(rng, s, colour, depth, extra=chunk(b"tRNS", trns)), rng, 4)
        check(tool, png(rng, s, colour, depth, extra=chunk(b"tRNS", trns)), rng, 2, rgb_first=1, white=1)


def test_png_text_and_profiles_are_skipped(tool):
    rng = np.random.default_rng(3)
    bomb = b"k\0\0" + zlib.compress(bytes(40 << 20))      # 40 MiB of text in 40 KiB
    extra = chunk(b"tEXt", b"a\0b") + chunk(b"zTXt", bomb)
    data = png(rng, scene(rng, 50, 40, 3), 2, 8, extra=extra)
    mode, px = tool.decode(data)
    assert mode == "RGB" and px.shape[:2] == (40, 50)


@pytest.mark.parametrize("bits,header", [(1, 40), (4, 40), (8, 40), (1, 12), (4, 12), (8, 12), (8, 108), (8, 124), (4, 64)])
def test_bmp_palette(tool, bits, header):
    rng = np.random.default_rng([4, bits, header])
    for w, h in SIZES[1:9]:
        n = 1 << bits
        check(tool, bmp(rng, w, h, bits, header, header > 12 and bool(rng.integers(2)), palette=rng.integers(0, 256, (n, 3)).tolist()), rng)


def test_bmp_grey_and_bilevel(tool):
    rng = np.random.default_rng(5)
    check(tool, bmp(rng, 33, 21, 8, palette=[(i, i, i) for i in range(256)]), rng)
    check(tool, bmp(rng, 33, 21, 1, palette=[(0, 0, 0), (255, 255, 255)]), rng)


@pytest.mark.parametrize("bits,header,masks", [
    (16, 40, None), (24, 40, None), (32, 40, None), (24, 12, None), (32, 124, None),
    (16, 40, (0xF800, 0x7E0, 0x1F)), (16, 40, (0x7C00, 0x3E0, 0x1F)), (16, 52, (0xF800, 0x7E0, 0x1F)),
    (24, 56, (0xFF0000, 0xFF00, 0xFF, 0)), (32, 40, (0xFF0000, 0xFF00, 0xFF)),
    (32, 56, (0xFF000000, 0xFF0000, 0xFF00, 0)), (32, 56, (0xFF000000, 0xFF00, 0xFF, 0)),
    (32, 56, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)), (32, 108, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
    (32, 124, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)), (32, 124, (0xFF000000, 0xFF00, 0xFF, 0xFF0000)),
    (32, 124, (0, 0, 0, 0))])
def test_bmp_colour(tool, bits, header, masks):
    rng = np.random.default_rng([6, bits, header])
    for w, h in SIZES[:9]:
        check(tool, bmp(rng, w, h, bits, header, header > 12 and bool(rng.integers(2)), 3 if masks else 0, masks), rng, 2)


def rle_rows(rng, w, h, four):
    """Random runs, literals and jumps that fill the picture."""
    out = bytearray()
    for _ in range(h):
        x = 0
        while x < w:
            n = int(min(w - x, rng.integers(1, 30)))
            if n >= 3 and rng.integers(2):
                v = rng.integers(0, 16, n) if four else rng.integers(0, 256, n)
                body = bytes(int(v[i]) << 4 | (int(v[i + 1]) if i + 1 < n else 0) for i in range(0, n, 2)) if four else bytes(v.tolist())
                out += bytes((0, n)) + body + b"\0" * (len(body) % 2)
            else:
                out += bytes((n, int(rng.integers(0, 256))))
            x += n
        out += b"\0\0"
    return bytes(out + b"\0\1")


@pytest.mark.parametrize("four", [False, True])
def test_bmp_rle(tool, four):
    rng = np.random.default_rng([7, four])
    for w, h in ((1, 1), (7, 5), (40, 31), (129, 60)):
        pal = rng.integers(0, 256, (16 if four else 256, 3)).tolist()
        check(tool, bmp(rng, w, h, 4 if four else 8, compression=2 if four else 1, palette=pal, rows=rle_rows(rng, w, h, four)), rng)


def test_gif(tool):
    rng = np.random.default_rng(8)
    for w, h in SIZES:
        for mode in ("L", "RGB", "P"):
            a = scene(rng, w, h, 3)
            im = Image.fromarray(a) if mode == "RGB" else Image.fromarray(a[..., 0])
            if mode == "P": im = Image.fromarray(a).quantize(int(rng.choice([2, 5, 64, 256])))
            kw = dict(interlace=int(rng.integers(2)))
            if rng.integers(2): kw["transparency"] = 1
            check(tool, saved(im, "GIF", **kw), rng, 2)


def test_gif_animation_and_offsets(tool):
    rng = np.random.default_rng(9)
    frames = [Image.fromarray(scene(rng, 60, 45, 3)).quantize(32) for _ in range(4)]
    check(tool, saved(frames[0], "GIF", save_all=True, append_images=frames[1:], loop=0), rng)
    data = bytearray(saved(frames[0], "GIF", interlace=0))
    data[6:10] = struct.pack("<HH", 90, 30)      # a screen wider and lower than the frame
    check(tool, bytes(data), rng)


def test_webp(tool):
    rng = np.random.default_rng(10)
    for w, h in SIZES:
        for channels in (3, 4):
            a = scene(rng, w, h, channels)
            check(tool, saved(Image.fromarray(a), "WEBP", lossless=bool(rng.integers(2)), quality=int(rng.integers(30, 95))), rng, 2)


def test_webp_animation(tool):
    rng = np.random.default_rng(11)
    frames = [Image.fromarray(scene(rng, 70, 50, 4)) for _ in range(3)]
    check(tool, saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=50), rng)


def test_resize_of_every_mode_and_size(tool):
    """A random walk over modes, sizes and options, through formats that hold pixels exactly."""
    rng = np.random.default_rng(12)
    for _ in range(150):
        w, h = (int(v) for v in np.exp(rng.uniform(0, np.log(900), 2)))
        kinds = list(png_kinds())
        data = any_png(rng, w, h, *kinds[int(rng.integers(len(kinds)))])
        o = options(rng)
        assert np.array_equal(tool.prep(data, **o), pillow_prep(opened(data), **o)), (w, h, o)


def random_jpeg(rng, exif=None):
    w, h = (int(v) for v in np.exp(rng.uniform(0, np.log(700), 2)))
    mode = str(rng.choice(["L", "RGB", "RGB", "RGB", "CMYK"]))
    a = scene(rng, w, h, {"L": 1, "RGB": 3, "CMYK": 4}[mode])
    im = Image.fromarray(a[..., 0]) if mode == "L" else Image.fromarray(a, mode if mode == "CMYK" else None)
    kw = dict(quality=int(rng.integers(10, 100)), progressive=bool(rng.integers(2)), optimize=bool(rng.integers(2)))
    if mode == "RGB": kw["subsampling"] = int(rng.integers(3))
    if rng.integers(3) == 0: kw["restart_marker_blocks"] = int(rng.integers(1, 20))
    if exif: kw["exif"] = exif
    return saved(im, "JPEG", **kw)


def test_jpeg(tool, record_property):
    rng = np.random.default_rng(13)
    same_library = (features.version("libjpeg_turbo") or "").startswith("2.1.")
    differ, levels = 0, 0
    for _ in range(200):
        data = random_jpeg(rng)
        mode, px = tool.decode(data)
        theirs_mode, theirs = pillow_pixels(opened(data))
        assert mode == theirs_mode
        ours = px[..., :theirs.shape[2]]
        if not np.array_equal(ours, theirs):
            differ += 1
            levels = max(levels, int(abs(ours.astype(int) - theirs).max()))
        im = Image.fromarray(ours[..., 0] if mode == "L" else np.ascontiguousarray(ours), mode if mode == "CMYK" else None)
        for _ in range(2):
            o = options(rng)
            assert np.array_equal(tool.prep(data, **o), pillow_prep(im, **o)), (im.mode, im.size, o)
    print(f"libjpeg-turbo {features.version('libjpeg_turbo')}: {differ} of 200 pictures decode differently, by up to {levels} levels")
    if same_library: assert differ == 0


def test_jpeg_with_scans_missing(tool):
    """Block smoothing guesses what the missing scans would say, from the blocks around: a window must
    see the same neighbours as the whole."""
    rng = np.random.default_rng(28)
    for _ in range(12):
        w, h = (int(v) for v in rng.integers(40, 500, 2))
        data = saved(Image.fromarray(scene(rng, w, h, 3)), "JPEG", quality=85, progressive=True)
        scans = [k for k in range(len(data) - 1) if data[k:k + 2] == b"\xff\xda"]
        for keep in scans[1:]:
            few = data[:keep] + b"\xff\xd9"
            im = Image.fromarray(np.ascontiguousarray(tool.decode(few)[1][..., :3]))
            assert np.array_equal(tool.prep(few), pillow_prep(im)), (w, h, keep)


def test_jpeg_ycck_and_rgb_colourspaces(tool):
    """Adobe's transform flag decides; Pillow takes every four-component file for inverted."""
    rng = np.random.default_rng(14)
    data = bytearray(saved(Image.fromarray(scene(rng, 90, 70, 4), "CMYK"), "JPEG", quality=90))
    at = data.index(b"Adobe") + 11
    for transform in (0, 2):
        data[at] = transform
        assert np.array_equal(tool.prep(bytes(data)), pillow_prep(opened(bytes(data))))
    rgb = saved(Image.fromarray(scene(rng, 90, 70, 3)), "JPEG", keep_rgb=True, quality=90)
    assert np.array_equal(tool.prep(rgb), pillow_prep(opened(rgb)))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(tool, orientation):
    rng = np.random.default_rng([15, orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    im = Image.fromarray(scene(rng, 83, 61, 3))
    for fmt, kw in (("JPEG", dict(quality=95)), ("PNG", {}), ("WEBP", dict(lossless=True))):
        data = saved(im, fmt, exif=exif, **kw)
        for on in (0, 1):
            assert np.array_equal(tool.prep(data, exif=on), pillow_prep(opened(data), exif=on)), (fmt, on)
        assert tool.info[:2] == ((61, 83) if orientation >= 5 else (83, 61))


def test_instruction_sets_agree():
    rng = np.random.default_rng(16)
    tools = [Tool(isa) for isa in ("plain", "avx2", "avx512")]
    for i in range(40):
        data = random_jpeg(rng) if i % 2 else any_png(rng, int(rng.integers(1, 600)), int(rng.integers(1, 600)), 6, 8, False)
        o = options(rng)
        first, *rest = [t.prep(data, **o) for t in tools]
        for r in rest: assert np.array_equal(first, r)
    for t in tools: t.close()


def test_wide_shrink(tool):
    """Hundreds of taps, and the order of the passes that Pillow picks for tall pictures."""
    rng = np.random.default_rng(17)
    for w, h in ((5000, 20), (20, 5000), (1500, 300), (300, 1500), (900, 900)):
        data = saved(Image.fromarray(scene(rng, w, h, 3)), "PNG", compress_level=1)
        for fit in (CROP, SQUASH):
            assert np.array_equal(tool.prep(data, size=32, fit=fit), pillow_prep(opened(data), size=32, fit=fit))


def test_png_encode(tool):
    rng = np.random.default_rng(18)
    for w, h in ((1, 1), (5, 9), (224, 224)):
        a = scene(rng, w, h, 3)
        assert np.array_equal(np.asarray(opened(tool.encode(a))), a)


def test_lut(tool):
    mean, std = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    v = np.arange(256, dtype=np.float32) / np.float32(255)
    want = np.stack([(v - np.float32(m)) / np.float32(s) for m, s in zip(mean, std)])
    assert np.array_equal(tool.lut(mean, std), want)


# Damage.
def whole_files(rng):
    im = Image.fromarray(scene(rng, 160, 120, 3))
    yield "jpeg", saved(im, "JPEG", quality=80)
    yield "jpeg", saved(im, "JPEG", quality=80, progressive=True)
    yield "jpeg", saved(im, "JPEG", quality=80, restart_marker_blocks=5)
    yield "png", saved(im, "PNG")
    yield "png", any_png(rng, 90, 70, 6, 8, True)
    yield "webp", saved(im, "WEBP", quality=80)
    yield "webp", saved(im, "WEBP", lossless=True)
    yield "gif", saved(im.quantize(64), "GIF")
    yield "bmp", saved(im, "BMP")
    yield "bmp", bmp(rng, 60, 50, 8, compression=1, palette=rng.integers(0, 256, (256, 3)).tolist(), rows=rle_rows(rng, 60, 50, False))


def test_truncation_is_never_a_picture(tool):
    rng = np.random.default_rng(19)
    for fmt, data in whole_files(rng):
        tool.prep(data)
        end = len(data) - (5 if data[30:31] == b"\1" else 1)      # run-length BMP: its end marks are not pixels
        cuts = {1, 2, 5, 20, end, *(int(v) for v in rng.integers(1, end, 60))}
        for cut in sorted(cuts):
            with pytest.raises(Bad) as e: tool.prep(data[:cut])
            assert e.value.status in ("truncated", "corrupt", "unsupported"), (fmt, cut, e.value)


def test_keep_damaged_keeps_the_top(tool):
    rng = np.random.default_rng(20)
    for fmt, data in whole_files(rng):
        cut = data[:int(len(data) * 0.9)]
        whole = tool.decode(data)[1]
        mode, part = tool.decode(cut, keep=1)
        assert tool.damaged == 1 and part.shape == whole.shape, fmt
        assert tool.prep(cut, keep=1) is not None and tool.info[3] == 1
        if fmt in ("png", "gif"): assert (part == whole).mean() > 0.4


def test_bit_flips_never_crash(tool):
    rng = np.random.default_rng(21)
    for fmt, data in whole_files(rng):
        for i in range(60):
            d = bytearray(data)
            for _ in range(int(rng.integers(1, 4))): d[int(rng.integers(len(d)))] ^= 1 << int(rng.integers(8))
            for keep in (0, 1):
                try: tool.prep(bytes(d), size=32, keep=keep)
                except Bad as e:
                    assert e.status in ("truncated", "corrupt", "unsupported", "too_large"), e
                    assert "/" not in e.text and not any(c.isdigit() and "libjpeg" in e.text for c in e.text)


def test_missing_end_marker(tool):
    rng = np.random.default_rng(22)
    data = saved(Image.fromarray(scene(rng, 64, 48, 3)), "JPEG")
    assert data.endswith(b"\xff\xd9")
    with pytest.raises(Bad, match="truncated"): tool.prep(data[:-2])
    with pytest.raises(Bad, match="truncated"): tool.prep(data[:-400] + b"\xff\xd9")
    tool.prep(data + b"trailing bytes do no harm")


def test_png_checksums(tool):
    rng = np.random.default_rng(23)
    data = bytearray(saved(Image.fromarray(scene(rng, 64, 48, 3)), "PNG"))
    data[data.index(b"IDAT") + 300] ^= 4
    with pytest.raises(Bad, match="corrupt"): tool.prep(bytes(data))


@pytest.mark.parametrize("data,status", [
    (b"\x89PNG\r\n\x1a\n" + chunk(b"tRNS", b""), "truncated"), (b"\x89PNG\r\n\x1a\n" + chunk(b"tRNS", bytes(30)) + chunk(b"IEND", b""), "corrupt"),
    (b"", "empty"), (b"hello", "unsupported"), (b"<html></html>" * 9, "unsupported"), (b"II*\0" + bytes(40), "unsupported")])
def test_not_a_picture(tool, data, status):
    with pytest.raises(Bad) as e: tool.prep(data)
    assert e.value.status == status


def test_bombs_are_refused_from_the_header(tool):
    """Sizes over the limits: refused before any pixel memory, so the file may be tiny."""
    ihdr = lambda w, h: b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")
    sof = saved(Image.new("RGB", (8, 8)), "JPEG")
    at = sof.index(b"\xff\xc0") + 5
    jpeg = lambda w, h: sof[:at] + struct.pack(">HH", h, w) + sof[at + 4:]
    rng = np.random.default_rng(24)
    head = bmp(rng, 4, 4, 24)
    bombs = [ihdr(40000, 10), ihdr(30000, 30000), jpeg(40000, 8), jpeg(30000, 30000), jpeg(65000, 65000),
             head[:18] + struct.pack("<ii", 30000, 30000) + head[26:],
             b"GIF89a" + struct.pack("<HH", 30000, 30000) + b"\0\0\0," + struct.pack("<HHHHB", 0, 0, 30000, 30000, 0) + b"\x08\0;",
             bytes((0xFF, 0xD8, 0xFF)) + bytes(60 << 20)]
    for data in bombs:
        with pytest.raises(Bad) as e: tool.prep(data)
        assert e.value.status == "too_large", (data[:20], e.value)


def test_scan_bombs(tool):
    """A progressive file that repeats a scan far beyond any use."""
    data = saved(Image.fromarray(scene(np.random.default_rng(25), 64, 64, 3)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    with pytest.raises(Bad) as e: tool.prep(data[:-2] + data[last:-2] * 200 + data[-2:], keep=1)
    assert e.value.status == "too_large"
