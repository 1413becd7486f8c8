"""Writes tests/fuzz/corpus/image: one small file of each kind the picture layer reads, each behind
an option byte. usage: tools/fuzz_image_seeds.py (needs Pillow and numpy)"""
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))
from prep_peer import *  # noqa: E402


def seeds(rng):
    rgb, rgba = (Image.fromarray(scene(rng, 19, 13, c)) for c in (3, 4))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield "jpeg", saved(rgb, "JPEG", quality=50, exif=exif)
    yield "jpeg-progressive", saved(rgb, "JPEG", quality=50, progressive=True)
    yield "jpeg-444-restart", saved(rgb, "JPEG", quality=50, subsampling=0, restart_marker_blocks=1)
    yield "jpeg-grey", saved(rgb.convert("L"), "JPEG")
    yield "jpeg-cmyk", saved(Image.fromarray(scene(rng, 19, 13, 4), "CMYK"), "JPEG", quality=50)
    for colour, depth, interlace in ((0, 1, False), (0, 16, False), (2, 8, True), (3, 4, False), (4, 16, True), (6, 8, False)):
        yield f"png-{colour}-{depth}-{int(interlace)}", any_png(rng, 9, 7, colour, depth, interlace)
    yield "webp", saved(rgb, "WEBP", quality=40)
    yield "webp-lossless", saved(rgba, "WEBP", lossless=True)
    yield "webp-alpha", saved(rgba, "WEBP", quality=40, exif=exif)
    yield "webp-animated", saved(rgb, "WEBP", save_all=True, append_images=[rgba], quality=30)
    yield "gif", saved(rgb.quantize(8), "GIF", interlace=1)
    yield "gif-animated", saved(rgb.quantize(4), "GIF", save_all=True, append_images=[rgba.convert("RGB").quantize(4)])
    yield "bmp-24", bmp(rng, 5, 4, 24)
    yield "bmp-8", bmp(rng, 5, 4, 8, palette=rng.integers(0, 256, (16, 3)).tolist())
    yield "bmp-rle8", bmp(rng, 6, 2, 8, compression=1, palette=[(1, 2, 3)] * 4, rows=b"\x06\x01\0\0\0\x03\1\2\3\0\3\2\0\1")
    yield "bmp-rle4", bmp(rng, 6, 2, 4, compression=2, palette=[(1, 2, 3)] * 4, rows=b"\x06\x12\0\0\0\2\1\0\5\x21\0\1")
    yield "bmp-fields", bmp(rng, 5, 4, 32, 124, compression=3, masks=(0xFF0000, 0xFF00, 0xFF, 0xFF000000))
    yield "bmp-core", bmp(rng, 5, 4, 1, 12, palette=[(0, 0, 0), (9, 9, 9)])


out = os.path.join(ROOT, "tests", "fuzz", "corpus", "image")
os.makedirs(out, exist_ok=True)
rng = np.random.default_rng(26)
for i, (name, data) in enumerate(seeds(rng)):
    with open(os.path.join(out, name), "wb") as f: f.write(bytes((i % 32,)) + data)
