"""dedup beside NeMo Curator 0.8: its own functions, unchanged, read what --layout nemo wrote and must come to the same
order, the same scores and the same removals. They are written for GPU libraries that do not install here; pandas
stands in for cuDF, numpy for CuPy, and torch works on the CPU."""
import importlib.metadata
import importlib.util
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import darkroom

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def nemo():
    """nemo_curator/utils/semdedup_utils.py of the installed wheel."""
    try:
        files = importlib.metadata.files("nemo-curator")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nemo-curator 0.8 is not installed")
    path = [f.locate() for f in files if str(f).endswith("utils/semdedup_utils.py")]
    if not path:
        pytest.skip("this nemo-curator has no semdedup_utils")
    series = types.ModuleType("crossfit.backend.cudf.series")
    series.create_list_series_from_1d_or_2d_ar = lambda a, index: pd.Series(list(np.asarray(a)), index=index)
    stand_in = {"cudf": pd, "cupy": np, "crossfit": types.ModuleType("crossfit"),
                "crossfit.backend": types.ModuleType("crossfit.backend"),
                "crossfit.backend.cudf": types.ModuleType("crossfit.backend.cudf"),
                "crossfit.backend.cudf.series": series, "dask": types.ModuleType("dask"),
                "dask.dataframe": types.ModuleType("dask.dataframe")}
    stand_in["dask"].dataframe = stand_in["dask.dataframe"]
    before = {k: sys.modules.get(k) for k in stand_in}
    sys.modules.update(stand_in)
    try:
        spec = importlib.util.spec_from_file_location("semdedup_utils", path[0])
        m = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(m)
    finally:
        for k, v in before.items():
            if v is None:
                del sys.modules[k]
            else:
                sys.modules[k] = v
    m.get_array_from_df = lambda df, col: np.stack(df[col].to_numpy()).astype(np.float32)
    batched = m.pairwise_cosine_similarity_batched
    m.pairwise_cosine_similarity_batched = lambda x, device, size: batched(x, "cpu", size)

    class OnCpu:
        def __getattr__(self, name):
            return getattr(torch, name)

        def as_tensor(self, x, device):
            return torch.as_tensor(x)
    m.torch = OnCpu()
    return m


def place_of(tmp_path, seed, n=600, dim=24):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, dim))[rng.integers(0, 12, n)] + 0.5 * rng.normal(size=(n, dim))
    for i in range(5, n, 9):
        x[i] = x[i - 4]  # exact copies: ties, so that ids decide
    for i in range(6, n, 11):
        x[i] = x[i - 1] + 0.03 * rng.normal(size=dim)
    place = tmp_path / "p"
    (place / "img_emb").mkdir(parents=True)
    (place / "metadata").mkdir()
    ids = [f"{v:09d}" for v in rng.permutation(n)]
    for p, (a, b) in enumerate(((0, n // 3), (n // 3, n))):
        np.save(place / f"img_emb/img_emb_{p}.npy", x[a:b].astype(np.float16))
        pq.write_table(pa.table({"key": ids[a:b]}), place / f"metadata/metadata_{p}.parquet")
    return place


@pytest.mark.parametrize("keep", ["hard", "easy"])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_same_pairs_and_removals(nemo, tmp_path, keep, metric):
    place = place_of(tmp_path, 21)
    eps, k = 0.03, 8
    darkroom("dedup", place, "--clusters", k, "--eps", eps, "--keep", keep, "--metric", metric, "--layout", "nemo", check=0)
    d = place / "dedup/nemo/clustering_results"
    (tmp_path / "theirs").mkdir()
    gone = []
    for c in range(k):
        nemo.get_semantic_matches_per_cluster(c, str(d / "embs_by_nearest_center"), "id", str(tmp_path / "theirs"),
                                              "embeddings", keep, metric, 64)
        ours = pd.read_parquet(d / f"semdedup_pruning_tables/cluster_{c}.parquet")
        theirs = pd.read_parquet(tmp_path / f"theirs/cluster_{c}.parquet")
        assert ours["id"].tolist() == theirs["id"].tolist()  # the order, ties by id included
        np.testing.assert_allclose(ours["cosine_sim_score"], theirs["cosine_sim_score"], atol=1e-6)
        differ = ours["max_id"] != theirs["max_id"]  # copies are equally similar: either may be named
        assert differ.mean() < 0.2
        gone.append(nemo.prune_single_cluster(c, "id", str(d / "embs_by_nearest_center"), str(tmp_path / "theirs"), eps))
    gone = pd.concat(gone).sort_values("id")
    ours = pd.read_parquet(d / f"unique_ids_{eps}.parquet").sort_values("id")
    assert gone["id"].tolist() == ours["id"].tolist() and gone["cluster"].tolist() == ours["cluster"].tolist()
    assert gone["cosine_dist_to_cent"].tolist() == ours["cosine_dist_to_cent"].tolist()
    assert 50 < len(gone) < 300 and sorted(pq.read_table(place / "dedup/removed.parquet")["id"].to_pylist()) == gone["id"].tolist()


def test_same_distances(nemo, tmp_path):
    place = place_of(tmp_path, 22)
    darkroom("dedup", place, "--clusters", 5, "--layout", "nemo", check=0)
    d = place / "dedup/nemo/clustering_results"
    df = pd.concat([pd.read_parquet(d / f"embs_by_nearest_center/nearest_cent={c}").assign(nearest_cent=c)
                    for c in range(5)], ignore_index=True)
    raw = np.concatenate([np.load(place / f"img_emb/img_emb_{p}.npy") for p in (0, 1)]).astype(np.float32)
    keys = sum((pq.read_table(place / f"metadata/metadata_{p}.parquet")["key"].to_pylist() for p in (0, 1)), [])
    theirs = pd.DataFrame({"id": keys, "embeddings": list(raw)})
    theirs = nemo.normalize_embeddings_col_in_df(theirs, "embeddings").set_index("id").loc[df["id"]]
    np.testing.assert_allclose(np.stack(df["embeddings"]), np.stack(theirs["embeddings"]), atol=1e-7)
    got = df[["l2_dist_to_cent", "cosine_dist_to_cent"]].copy()
    df = nemo.add_l2_cosine_dist_to_centroid(df, "embeddings", np.load(d / "kmeans_centroids.npy"))
    np.testing.assert_allclose(got, df[got.columns], atol=1e-6)
