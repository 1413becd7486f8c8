"""Our JPEG decoder against Pillow's: a random corpus over every kind that Pillow writes, decoded whole and
prepared from a crop, by each instruction set. Not one pixel may differ. tests/unit/test_jpeg.c does the
same against the libjpeg we link to, with the kinds Pillow cannot write (4:4:0, other scan orders)."""
import io

import numpy as np
import pytest
from PIL import Image

from prep_peer import *

FILES = 150


def picture(rng, w, h, grey):
    """Waves, edges, noise and flat parts in proportions that vary."""
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([128 + rng.uniform(20, 127) * np.sin(rng.uniform(.02, .6) * x + c) * np.cos(rng.uniform(.02, .6) * y) for c in range(3)], -1)
    a += rng.normal(0, rng.choice([0, 3, 25, 80]), a.shape)
    a[h // 2:, w // 3:] = np.where(rng.integers(2), a[h // 2:, w // 3:], rng.integers(0, 256, 3))
    a = np.clip(a, 0, 255).astype(np.uint8)
    return Image.fromarray(a[..., 0] if grey else a)


def random_file(rng):
    w, h = (int(v) for v in rng.integers(1, 301, 2))
    grey = rng.integers(6) == 0
    kw = dict(quality=int(rng.integers(1, 101)), progressive=bool(rng.integers(2)), optimize=bool(rng.integers(2)))
    if not grey: kw["subsampling"] = str(rng.choice(["4:4:4", "4:2:2", "4:2:0", "4:2:0", "4:1:1"]))
    if rng.integers(3) == 0: kw[str(rng.choice(["restart_marker_blocks", "restart_marker_rows"]))] = int(rng.integers(1, 9))
    return saved(picture(rng, w, h, grey), "JPEG", **kw), (w, h, kw)


@pytest.mark.parametrize("isa", ["plain", "avx2", "avx512"])
def test_every_pixel_as_pillow(isa):
    rng = np.random.default_rng(31)
    tool = Tool(isa)
    for _ in range(FILES):
        data, what = random_file(rng)
        im = Image.open(io.BytesIO(data))
        mode, want = pillow_pixels(im)
        got_mode, got = tool.decode(data)
        assert got_mode == mode and np.array_equal(got[..., :want.shape[2]], want), what
        o = dict(size=int(rng.choice([8, 32, 64])), fit=int(rng.integers(2)))
        assert np.array_equal(tool.prep(data, **o), pillow_prep(Image.open(io.BytesIO(data)), **o)), (what, o)
    tool.close()
    print(f"{isa}: {FILES} files, whole and cropped, no pixel differs")
