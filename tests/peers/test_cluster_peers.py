"""k-means against scikit-learn: the same start gives the same clusters, any start as good ones. And
the comparison with 1 - eps against pandas."""
import importlib.util
import os

import numpy as np
import pytest

cluster = pytest.importorskip("sklearn.cluster")
spec = importlib.util.spec_from_file_location(
    "plain", os.path.join(os.path.dirname(__file__), "..", "interop", "test_cluster.py"))
plain = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plain)


def overlapping(seed, n, dim, k):
    rng = np.random.default_rng(seed)
    return plain.unit(plain.groups(rng, n, dim, k, 1.0))


@pytest.mark.parametrize("n,dim,k", [(3000, 32, 20), (5000, 64, 100), (4000, 8, 300), (2000, 512, 50)])
def test_same_start_same_inertia(tmp_path, n, dim, k):
    x = overlapping(n, n, dim, k)
    start = x[np.random.default_rng(1).choice(n, k, replace=False)]
    start.tofile(tmp_path / "start")
    got = plain.tool("fit", x, tmp_path, k, start=tmp_path / "start", iters=300, tol=1e-4, stop="sklearn")
    km = cluster.KMeans(k, init=start, n_init=1, max_iter=300, tol=1e-4, algorithm="lloyd").fit(x)
    assert abs(got["inertia"] / km.inertia_ - 1) < 1e-4
    assert abs(got["iterations"] - km.n_iter_) <= 2
    assert (plain.load(tmp_path, "label.i32") == km.labels_).mean() > 0.99


@pytest.mark.parametrize("start", ["parallel", "plusplus"])
@pytest.mark.parametrize("k", [10, 60, 400])
def test_own_start_is_as_good(tmp_path, start, k):
    x = overlapping(k, 6000, 24, k)
    ours = [plain.tool("fit", x, tmp_path, k, start=start, seed=s, iters=100)["inertia"] for s in range(3)]
    theirs = [cluster.KMeans(k, n_init=1, random_state=s).fit(x).inertia_ for s in range(3)]
    assert np.mean(ours) < 1.03 * np.mean(theirs)


def test_separate_groups_are_found(tmp_path):
    from sklearn.metrics import adjusted_rand_score
    rng = np.random.default_rng(3)
    c = rng.standard_normal((12, 40)) * 3
    truth = rng.integers(0, 12, 6000)
    x = (c[truth] + rng.standard_normal((6000, 40)) * 0.3).astype(np.float32)
    plain.tool("fit", x, tmp_path, 12, seed=4)
    assert adjusted_rand_score(truth, plain.load(tmp_path, "label.i32")) > 0.99
    plain.tool("fit", x, tmp_path, 12, seed=4, fraction=0.5)
    assert adjusted_rand_score(truth, plain.load(tmp_path, "label.i32")) > 0.95


def test_limit_is_what_pandas_compares_with():
    pandas = pytest.importorskip("pandas")
    for eps in (0.01, 0.05, 0.07, 0.1, 0.001, 0.3):
        limit = np.float32(1 - eps)
        column = pandas.DataFrame({"s": np.float32([np.nextafter(limit, np.float32(0)), limit, 1])})["s"]
        assert (column >= 1 - eps).tolist() == [False, True, True]
