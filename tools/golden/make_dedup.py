#!/usr/bin/env python3
"""The blobs of NeMo Curator's test of semantic deduplication, as scikit-learn makes them: 1500 rows
of 3 f32, five groups of 100..500. Their numbers (k = 5, eps 0.01): hard keeps 29 and removes 1471,
easy 5 and 1495.

    python tools/golden/make_dedup.py            (from the repository root)
"""
import numpy as np
from sklearn.datasets import make_blobs

x, _ = make_blobs(n_samples=[100, 200, 300, 400, 500], n_features=3, random_state=42)
assert abs(x[0] - [2.99974953, -6.71353906, -7.90049284]).max() < 1e-8
x.astype("<f4").tofile("tests/golden/dedup/blobs.f32")
