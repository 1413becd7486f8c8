"""Photographs for bench/prep.py: cut from the real ones inside scikit-image and scikit-learn.
Larger pictures are mosaics of native-scale cells, so the detail per pixel stays that of a photo.

usage: prep_corpus.py OUT [COUNT]     writes OUT/{640x427,1280x854,2560x1708,640x427p}/NNN.jpg,
                                      quality 85, 4:2:0; p = progressive
"""
import os
import sys

import numpy as np
from PIL import Image

SETS = [("640x427", 640, 427, False), ("1280x854", 1280, 854, False), ("2560x1708", 2560, 1708, False),
        ("640x427p", 640, 427, True)]
CELL = (640, 427)


def photographs():
    import skimage
    import sklearn.datasets
    dirs = [os.path.join(os.path.dirname(skimage.__file__), "data"),
            os.path.join(os.path.dirname(sklearn.datasets.__file__), "images")]
    names = ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png",
             "motorcycle_right.png", "china.jpg", "flower.jpg"]
    paths = [os.path.join(d, n) for d in dirs for n in names]
    return [Image.open(p).convert("RGB") for p in paths if os.path.exists(p)]


def cell(photos, rng, w, h):
    """A random photo, a little shrunk, cropped, perhaps flipped, mirrored to fill, re-exposed."""
    im = photos[rng.integers(len(photos))]
    s = 1 / rng.uniform(1.0, 1.6)
    a = np.asarray(im.resize((int(im.width * s), int(im.height * s)), Image.LANCZOS))
    if rng.integers(2): a = a[:, ::-1]
    a = a[rng.integers(a.shape[0] // 3):, rng.integers(a.shape[1] // 3):]
    while a.shape[0] < h or a.shape[1] < w:
        more = [(0, min(n, max(0, want - n))) for n, want in zip(a.shape, (h, w))]
        a = np.pad(a, more + [(0, 0)], mode="symmetric")
    a = a[:h, :w] * rng.uniform(0.85, 1.1) + rng.uniform(-8, 8)
    return np.clip(a, 0, 255).astype(np.uint8)


def picture(photos, seed, w, h):
    rng = np.random.default_rng(seed)
    out = np.empty((h, w, 3), np.uint8)
    for y in range(0, h, CELL[1]):
        for x in range(0, w, CELL[0]):
            part = out[y:y + CELL[1], x:x + CELL[0]]
            part[:] = cell(photos, rng, part.shape[1], part.shape[0])
    return Image.fromarray(out)


def make(out, count=64):
    photos = photographs()
    for name, w, h, progressive in SETS:
        d = os.path.join(out, name)
        if os.path.isdir(d) and len(os.listdir(d)) >= count: continue
        os.makedirs(d, exist_ok=True)
        for i in range(count):
            picture(photos, 1000 * w + i, w, h).save(os.path.join(d, f"{i:03d}.jpg"), quality=85,
                                                     subsampling="4:2:0", progressive=progressive)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 64)
