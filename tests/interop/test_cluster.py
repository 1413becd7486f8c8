"""In-cluster deduplication and k-means against plain numpy, on random rows."""
import json
import os
import subprocess

import numpy as np
import pytest

BUILD = os.environ.get("DARKROOM_BUILD", "build")
TOOL = os.path.join(BUILD, "tests/interop/cluster_tool")


def tool(verb, x, folder, *args, rc=0, **keys):
    path = os.path.join(folder, "x")
    x.tofile(path)
    kind = {np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}[x.dtype]
    more = args if verb == "fit" else (args or ("-",))
    r = subprocess.run([TOOL, verb, path, kind, *map(str, x.shape), *map(str, more), f"out={folder}",
                        *(f"{k}={v}" for k, v in keys.items())], capture_output=True, text=True)
    assert r.returncode == rc, r.stderr
    return json.loads(r.stdout.splitlines()[-1]) if verb == "fit" and not rc else r.stderr


def load(folder, name):
    dtype = {"f32": np.float32, "i32": np.int32, "u8": np.uint8}[name.split(".")[1]]
    return np.fromfile(os.path.join(folder, name), dtype)


def groups(rng, n, dim, k, spread):
    c = rng.standard_normal((k, dim)) + rng.standard_normal(dim)
    return (c[rng.integers(0, k, n)] + spread * rng.standard_normal((n, dim))).astype(np.float32)


def unit(x):
    x = x.astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nemo_scores(x):
    """Steps 3 of NeMo Curator's cluster-level deduplication."""
    e = unit(x)
    s = np.triu(e @ e.T, 1)
    return s.max(0), s.argmax(0), s


@pytest.mark.parametrize("seed", range(12))
def test_scores_equal_numpy(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, 700)), int(rng.integers(1, 130))
    x = groups(rng, n, dim, int(rng.integers(1, 20)), rng.choice([0.05, 0.3, 2.0]))
    x = x.astype(rng.choice([np.float16, np.float32]))
    x[rng.integers(0, n, n // 10)] = x[rng.integers(0, n, n // 10)]  # copies
    tool("score", x, tmp_path, memory=int(rng.choice([0, 50000])), threads=int(rng.integers(1, 4)))
    score, earlier = load(tmp_path, "score.f32"), load(tmp_path, "earlier.i32")
    want, who, s = nemo_scores(x)
    assert np.abs(score - want).max() < 2e-6
    # the same row, or one that is as similar within the rounding of numpy's own sums
    assert np.abs(s[earlier, np.arange(n)] - want).max() < 2e-6
    assert (earlier <= np.arange(n)).all() and earlier[0] == 0
    assert (earlier == who).mean() > 0.8 or dim < 3


@pytest.mark.parametrize("seed", range(6))
def test_greedy_equals_numpy(tmp_path, seed):
    rng = np.random.default_rng(100 + seed)
    n, dim = int(rng.integers(1, 1500)), int(rng.integers(2, 40))
    x = groups(rng, n, dim, 12, rng.choice([0.02, 0.2]))
    eps = [0.001, 0.01, 0.1, 0.5]
    tool("greedy", x, tmp_path, eps=",".join(map(str, eps)))
    removed = load(tmp_path, "removed.u8").reshape(len(eps), n)
    by = load(tmp_path, "by.i32").reshape(len(eps), n)
    e = unit(x)
    s = e.astype(np.float64) @ e.T.astype(np.float64)
    for k, value in enumerate(eps):
        limit = np.float32(1 - value)
        kept = []
        for j in range(n):
            near = [i for i in kept if s[j, i] >= limit - 1e-6]
            sure = [i for i in kept if s[j, i] >= limit + 1e-6]
            if removed[k, j]:
                assert near and by[k, j] in near and by[k, j] <= min(sure + [n])
            else:
                assert not sure and by[k, j] == -1
                kept.append(j)


def lloyd(x, c, rounds):
    x, c = x.astype(np.float64), c.astype(np.float64)
    for _ in range(rounds):
        d = (x**2).sum(1)[:, None] + (c**2).sum(1) - 2 * x @ c.T
        label = d.argmin(1)
        for j in range(len(c)):
            if (label == j).any():
                c[j] = x[label == j].mean(0)
        c = c.astype(np.float32).astype(np.float64)
    d = (x**2).sum(1)[:, None] + (c**2).sum(1) - 2 * x @ c.T
    return c, np.maximum(d.min(1), 0).sum()


@pytest.mark.parametrize("seed", range(8))
def test_kmeans_equals_numpy(tmp_path, seed):
    rng = np.random.default_rng(200 + seed)
    n, dim, k = int(rng.integers(20, 900)), int(rng.integers(1, 60)), int(rng.integers(1, 20))
    x = groups(rng, n, dim, k, 0.5)
    normalize = seed % 2
    start = (unit(x) if normalize else x)[rng.choice(n, k, replace=False)]
    start.tofile(tmp_path / "start")
    got = tool("fit", x, tmp_path, k, start=tmp_path / "start", iters=7, tol=0, normalize=normalize, keep_empty=1)
    c, inertia = lloyd(unit(x) if normalize else x, start, got["iterations"])
    assert np.abs(load(tmp_path, "c.f32").reshape(k, dim) - c).max() < 1e-4
    assert abs(got["inertia"] - inertia) < 1e-4 * inertia + 1e-6
    label = load(tmp_path, "label.i32")
    y = (unit(x) if normalize else x).astype(np.float64)
    assert np.abs(load(tmp_path, "l2.f32") - np.linalg.norm(y - c[label], axis=1)).max() < 1e-3
    cosine = 1 - (y * (c / np.linalg.norm(c, axis=1, keepdims=True))[label]).sum(1)
    assert np.abs(load(tmp_path, "cosine.f32") - cosine).max() < 1e-3


def test_rows_that_are_no_directions_are_left_out(tmp_path):
    rng = np.random.default_rng(5)
    x = groups(rng, 300, 16, 4, 0.1).astype(np.float16)
    x[[3, 77]] = 0
    x[5, 2], x[299, 15], x[200, 0] = np.nan, np.inf, -np.inf
    got = tool("fit", x, tmp_path, 4, normalize=1)
    label = load(tmp_path, "label.i32")
    assert (got["rows"], got["zero"], got["not_finite"]) == (295, 2, 3)
    assert (np.flatnonzero(label < 0) == [3, 5, 77, 200, 299]).all()
    assert np.isfinite(load(tmp_path, "c.f32")).all()
    assert "row 3 " in tool("score", x, tmp_path, rc=4)
    assert "ask for 295 or fewer" in tool("fit", x, tmp_path, 400, rc=2, normalize=1)


def test_order_equals_numpy(tmp_path):
    rng = np.random.default_rng(9)
    n = 500
    key = rng.choice(np.float32([0.1, 0.2, 0.25, 7]), n)
    ids = [f"{int(v):x}" for v in rng.choice(10**6, n, replace=False)]
    key.tofile(tmp_path / "k")
    (tmp_path / "ids").write_text("".join(i + "\n" for i in ids))

    def order(keep, seed=0):
        return subprocess.run([TOOL, "order", tmp_path / "k", tmp_path / "ids", keep, str(seed)], check=True,
                              capture_output=True, text=True).stdout.split()

    pairs = sorted(zip(key.tolist(), ids))
    assert order("easy") == order("low") == [i for _, i in pairs]
    assert order("hard") == [i for _, i in pairs[::-1]]
    assert order("high") == [i for _, i in sorted(zip((-key).tolist(), ids))]
    assert order("random", 1) == order("random", 1) != order("random", 2)
    assert sorted(order("random")) == sorted(ids)
