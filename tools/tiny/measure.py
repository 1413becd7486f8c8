"""How good it is: the numbers of models/tiny/report.json. numpy only."""
import random

import numpy as np
from PIL import Image

import world


def unseen_set(n, seed=1):
    """n unseen scenes with distinct facts, their pictures, and one full caption each."""
    rng = random.Random(f"test {seed}")
    scenes = world.unseen_scenes(seed, n)
    pictures = [Image.fromarray(world.draw(s, *world.random_size(rng, 96, 320))) for s in scenes]
    return scenes, pictures, [world.caption(s, rng) for s in scenes]


def unseen_families(n, size=4, seed=1):
    """n times `size` unseen scenes, one fact apart from the first of each."""
    rng = random.Random(f"families {seed}")
    scenes = [s for _ in range(n) for s in world.unseen_family(rng, size)]
    pictures = [Image.fromarray(world.draw(s, *world.random_size(rng, 96, 320))) for s in scenes]
    return scenes, pictures, [world.caption(s, rng) for s in scenes]


def recall_at_1(queries, targets, among):
    """Share of rows whose own target is the nearest of `among` candidates (blocks of rows)."""
    right = []
    for i in range(0, len(queries) - among + 1, among):
        near = (queries[i:i + among] @ targets[i:i + among].T).argmax(1)
        right.append((near == np.arange(among)).mean())
    return round(float(np.mean(right)), 4)


def retrieval(image, text, sizes=(100, 1000)):
    out = {}
    for n in sizes:
        if n <= len(image):
            out[f"text_to_image_recall_at_1_of_{n}"] = recall_at_1(text, image, n)
            out[f"image_to_text_recall_at_1_of_{n}"] = recall_at_1(image, text, n)
    return out


def correlation(a, b):
    return round(float(np.corrcoef(a, b)[0, 1]), 4)


def auc(score, label):
    """The chance that a picture with the property scores above one without."""
    label = np.asarray(label, bool)
    rank = np.empty(len(score))
    rank[np.argsort(score, kind="stable")] = np.arange(1, len(score) + 1)
    pos, neg = int(label.sum()), int((~label).sum())
    return round(float((rank[label].sum() - pos * (pos + 1) / 2) / (pos * neg)), 4)
