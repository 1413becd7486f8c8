"""dedup from end to end: against a plain numpy implementation, NeMo Curator's own test numbers, every layout,
resume, determinism, and what is said when something is wrong."""
import csv
import hashlib
import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DARKROOM, ROOT, darkroom, tree

PLANTED = json.loads((ROOT / "demo/planted.json").read_text())


def dedup(place, *args, check=0, **kw):
    return darkroom("dedup", place, *args, check=check, **kw)


def retrieval(place, parts, columns=None, dtype=np.float32):
    """A place as clip-retrieval leaves it: one array per partition, columns {name: [list per partition]}."""
    (place / "img_emb").mkdir(parents=True)
    digits = len(str(len(parts)))
    for p, x in enumerate(parts):
        np.save(place / f"img_emb/img_emb_{p:0{digits}d}.npy", np.asarray(x, dtype))
    for p in range(len(parts) if columns else 0):
        (place / "metadata").mkdir(exist_ok=True)
        pq.write_table(pa.table({k: v[p] for k, v in columns.items()}),
                       place / f"metadata/metadata_{p:0{digits}d}.parquet")
    return place


def receipts(place, product, outputs, options=None):
    """A run and receipts of another verb, as it would leave them; outputs: one file per partition."""
    d = place / "_darkroom" / product
    d.mkdir(parents=True)
    fields = dict(options or {}, partitions=str(len(outputs)))
    run = "{\n \"format\": 1" + "".join(f",\n {json.dumps(k)}: {json.dumps(v)}" for k, v in fields.items()) + "\n}\n"
    (d / "run.json").write_text(run)
    for p, name in enumerate(outputs):
        data = (place / name).read_bytes()
        rows = pq.read_metadata(place / name).num_rows
        (d / f"{p:0{len(str(len(outputs)))}d}.json").write_text(json.dumps({
            "format": 1, "version": "0", "partition": p, "fingerprint": hashlib.sha256(run.encode()).hexdigest(),
            "samples": rows, "rows": rows, "errors": {}, "inputs": [],
            "outputs": [{"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}]}))


def assign(place):
    files = sorted((place / "dedup").glob("assign_*.parquet"))
    return pa.concat_tables([pq.read_table(f) for f in files]).to_pydict()


def listed(place, name):
    return pq.read_table(place / f"dedup/{name}.parquet").to_pydict()


def table(r):
    return {float(a): (int(b.replace(",", "")), int(c.replace(",", "")))
            for a, b, c in (line.split() for line in r.stdout.splitlines()[1:])}


def clumps(rng, n, dim, centres):
    """Rows around centres, with near and exact copies among them."""
    x = rng.normal(size=(centres, dim))[rng.integers(0, centres, n)] + 0.4 * rng.normal(size=(n, dim))
    for i in range(5, n, 7):
        x[i] = x[i - 3] * 1.5
    for i in range(6, n, 11):
        x[i] = x[i - 1] + 0.05 * rng.normal(size=dim)
    return x


# ---- the numpy implementation ----

def reference(x, ids, where, centroids, found, keep, metric, eps, column=None):
    """Checks what dedup found (assign columns as a dict) for rows x against plain numpy in float64, cluster by
    cluster. Returns the rows that must go."""
    unit = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    c = centroids.astype(np.float64)
    far = np.linalg.norm(unit[:, None] - c[None], axis=2)
    label = np.array(found["nearest_cent"])
    rows = np.arange(len(x))
    assert (far[rows, label] <= far.min(1) + 1e-6).all()
    np.testing.assert_allclose(found["l2_dist_to_cent"], far[rows, label], atol=2e-6)
    cosine = 1 - (unit * (c / np.linalg.norm(c, axis=1, keepdims=True))[label]).sum(1)
    np.testing.assert_allclose(found["cosine_dist_to_cent"], cosine, atol=2e-6)
    stored = np.array(found["cosine_dist_to_cent" if metric == "cosine" else "l2_dist_to_cent"], np.float32)
    score = np.array(found["cosine_sim_score"], np.float32)
    limit, gone = np.float32(1 - eps), set()
    for k in range(len(c)):
        mine = list(np.flatnonzero(label == k))
        order = sorted(mine, key=lambda i: where[i])
        name = lambda i: ids[i].encode()
        if keep == "hard":
            order.sort(key=lambda i: (stored[i], name(i)), reverse=True)
        elif keep == "easy":
            order.sort(key=lambda i: (stored[i], name(i)))
        else:
            sign = -1 if keep == "desc" else 1
            order.sort(key=lambda i: (column[i] is None, sign * (column[i] or 0), name(i)))
        s = unit[order] @ unit[order].T
        for j, i in enumerate(order):
            before = s[:j, j]
            best = max(0, before.max()) if j else 0
            assert abs(score[i] - best) < 2e-6
            said = found["max_id"][i]
            if not j or before.max() < 0:
                assert said == ids[i]
            else:
                assert any(ids[order[h]] == said and before[h] > best - 2e-6 for h in range(j))
            if abs(best - limit) > 2e-6:
                assert (best >= limit) == (score[i] >= limit)
            if score[i] >= limit:
                gone.add(i)
    return gone


def check_lists(place, gone, quarantined, considered, where, ids):
    got = {name: listed(place, name) for name in ("kept", "removed", "quarantined")}
    at = {w: i for i, w in enumerate(where)}
    rows = {name: [at[w] for w in zip(t["part"], t["row"])] for name, t in got.items()}
    assert set(rows["removed"]) == gone and set(rows["quarantined"]) == quarantined
    assert sorted(sum(rows.values(), [])) == sorted(considered)
    for name, t in got.items():
        assert rows[name] == sorted(rows[name]) and t["id"] == [ids[i] for i in rows[name]]
    summary = list(csv.DictReader(open(place / "dedup/summary.csv")))
    assert int(summary[0]["removed"]) == len(gone) and int(summary[0]["kept"]) == len(rows["kept"])
    assert int(summary[0]["total"]) == len(gone) + len(rows["kept"])


@pytest.mark.parametrize("seed, keep, metric, dtype", [
    (1, "hard", "cosine", np.float32), (2, "easy", "l2", np.float16), (3, "hard", "l2", np.float16),
    (4, "easy", "cosine", np.float32), (5, "desc", "cosine", np.float16), (6, "asc", "cosine", np.float32)])
def test_against_numpy(tmp_path, seed, keep, metric, dtype):
    rng = np.random.default_rng(seed)
    sizes = [70, 0, 1, 133, 96]
    x = clumps(rng, sum(sizes), int(rng.integers(3, 40)), 9).astype(dtype)
    ids = [f"k{i * 7919 % 1000:03d}" for i in range(len(x))]
    ids[20], ids[5] = ids[17], ids[2]  # copies with the same id: the place decides
    score = [None if i % 13 == 0 else float(i % 17) for i in range(len(x))]
    cut = np.cumsum([0, *sizes])
    split = lambda v: [v[a:b] for a, b in zip(cut, cut[1:])]
    place = retrieval(tmp_path / "p", split(x), {"key": split(ids), "beauty": split(score)}, dtype)
    where = [(p, r) for p, n in enumerate(sizes) for r in range(n)]
    rule = {"desc": "beauty", "asc": "beauty:asc"}.get(keep, keep)
    dedup(place, "--clusters", 7, "--keep", rule, "--metric", metric, "--eps", 0.02, "--seed", seed)
    c = np.load(place / "dedup/centroids.npy")
    assert c.dtype == np.float32 and c.shape == (7, x.shape[1])
    found = assign(place)
    assert np.array_equal(np.load(place / "dedup/labels.npy"), found["nearest_cent"])
    gone = reference(x, ids, where, c, found, keep, metric, 0.02, score)
    assert 10 < len(gone) < len(x) - 10
    check_lists(place, gone, set(), set(range(len(x))), where, ids)
    darkroom("verify", place, check=0)


def test_greedy_against_numpy(tmp_path):
    rng = np.random.default_rng(7)
    x = clumps(rng, 200, 6, 5).astype(np.float32)
    place = retrieval(tmp_path / "p", [x[:120], x[120:]])
    r = dedup(place, "--clusters", 3, "--order", "greedy", "--eps", "0.1,0.02,0.2", "--keep", "easy")
    found = assign(place)
    ids = [f"0:{i}" for i in range(120)] + [f"1:{i}" for i in range(80)]
    label, dist = np.array(found["nearest_cent"]), np.array(found["cosine_dist_to_cent"], np.float32)
    unit = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    for eps, (kept, removed) in table(r).items():
        gone = set()
        for k in range(3):
            order = sorted(np.flatnonzero(label == k), key=lambda i: (dist[i], ids[i].encode()))
            stay = []
            for i in order:
                by = [h for h in stay if unit[h] @ unit[i] >= 1 - eps]
                if by:
                    gone.add(i)
                else:
                    stay.append(i)
                if eps == 0.1:
                    assert found["max_id"][i] == (ids[by[0]] if by else ids[i])
                    assert abs(found["cosine_sim_score"][i] - (unit[by[0]] @ unit[i] if by else 0)) < 2e-6
        assert (kept, removed) == (200 - len(gone), len(gone))
        if eps == 0.1:
            assert {int(f[2:]) + 120 * int(f[0]) for f in listed(place, "removed")["id"]} == gone
    collapse = dedup(place, "--order", "collapse", "--force-new-run", "--eps", 0.1, "--keep", "easy")
    assert table(collapse)[0.1][1] > table(r)[0.1][1]  # chains: the reason for greedy


# ---- NeMo Curator's own numbers ----

def blobs():
    """sklearn's make_blobs(n_samples=[100, 200, 300, 400, 500], n_features=3, random_state=42)."""
    r = np.random.RandomState(42)
    c = r.uniform(-10, 10, (5, 3))
    x = np.concatenate([r.normal(c[i], 1.0, (100 * (i + 1), 3)) for i in range(5)])
    at = np.arange(1500)
    r.shuffle(at)
    np.testing.assert_allclose(x[at[0]], [2.99974953, -6.71353906, -7.90049284], atol=1e-8)
    return x[at]


@pytest.mark.parametrize("ids", [int, str])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("keep, kept, removed", [("hard", 29, 1471), ("easy", 5, 1495)])
def test_nemo_blobs(tmp_path, keep, kept, removed, metric, ids):
    x = blobs()
    place = retrieval(tmp_path / "p", [x[:700], x[700:]],
                      {"id": [[ids(i) for i in range(700)], [ids(i) for i in range(700, 1500)]]})
    r = dedup(place, "--n_clusters", 5, "--eps_to_extract", 0.01, "--which_to_keep", keep, "--sim_metric", metric,
              "--random_state", 42)
    assert table(r) == {0.01: (kept, removed)}
    sizes = sorted(np.bincount(np.load(place / "dedup/labels.npy")))
    assert np.allclose(sizes, [100, 200, 300, 400, 500], rtol=0.02)
    assert len(listed(place, "removed")["id"]) == removed and len(listed(place, "kept")["id"]) == kept
    assert abs(np.linalg.norm(np.load(place / "dedup/centroids.npy"), axis=1) - 1).min() > 1e-4  # means, as they are


def test_nemo_random_keeps_as_many(tmp_path):
    place = retrieval(tmp_path / "p", [blobs()])
    kept = table(dedup(place, "--clusters", 5, "--keep", "random", "--seed", 42))[0.01][0]
    assert 5 < kept < 29  # cuDF's shuffle gave them 17


def test_six_vectors(tmp_path):
    """curator.md 7.2 with one cluster: the same six vectors, scores as in NeMo's tests."""
    x = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [1, 2, 3], [1, 2, 3]], np.float32)
    place = retrieval(tmp_path / "p", [x], {"id": [list(range(6))], "rank": [[0, 1, 2, 3, 4, 5]]})
    dedup(place, "--clusters", 1, "--keep", "rank:asc")
    a = assign(place)
    np.testing.assert_allclose(a["cosine_sim_score"], [0, .974631, .998190, .999618, 1, 1], atol=1e-6)
    assert a["max_id"] == ["0", "0", "1", "2", "0", "0"]


# ---- the demo ----

@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    p = tmp_path_factory.mktemp("demo") / "place"
    darkroom("embed", ROOT / "demo/{00000..00002}.tar", p, "--model", "tiny", "--metadata", check=3)
    return p


def groups(pairs):
    """Who is alike, as sets: a picture may have several copies."""
    of = {}
    for a, b in pairs:
        both = of.get(a, {a}) | of.get(b, {b})
        of.update(dict.fromkeys(both, both))
    return {frozenset(g) for g in of.values()}


def test_planted_duplicates_are_found(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    r = dedup(place, "--eps", 0.05)
    assert "252 rows = 227 kept + 25 removed + 0 quarantined" in r.stderr
    planted = [p for p in PLANTED["planted"] if "duplicate" in p["what"] and "of" in p]
    assert len(planted) == PLANTED["exact_duplicates"] + PLANTED["near_duplicates"] == 25
    removed = listed(place, "removed")
    assert groups(zip(removed["id"], removed["max_id"])) == groups((p["key"], p["of"]) for p in planted)
    assert all(s >= 0.95 for s in removed["cosine_sim_score"])


def test_similarity_is_eps_said_the_other_way(demo, tmp_path):
    shutil.copytree(demo, tmp_path / "a")
    shutil.copytree(demo, tmp_path / "b")
    dedup(tmp_path / "a", "--eps", 0.05)
    dedup(tmp_path / "b", "--similarity", 0.95)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_another_eps_leaves_clusters_and_pairs_alone(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--clusters", 6, "--eps", 0.05, "--seed", 3)
    stamp = lambda: {f: (f.stat().st_ino, f.stat().st_mtime_ns) for f in place.rglob("*") if f.is_file()}
    before = stamp()
    r = dedup(place, "--eps", "0.001,0.05,0.3", "--dry-run")
    assert stamp() == before and len(table(r)) == 3 and "nothing was computed again" in r.stderr
    assert table(r)[0.05] == (227, 25) and table(r)[0.001][1] >= 10 and table(r)[0.3][1] > 25
    r = dedup(place, "--eps", 0.3)  # not given: as before
    changed = {str(f.relative_to(place)) for f, s in stamp().items() if before.get(f) != s}
    assert changed == {"dedup/kept.parquet", "dedup/removed.parquet", "dedup/quarantined.parquet", "dedup/summary.csv",
                       "_darkroom/dedup-eps/run.json", "_darkroom/dedup-eps/0.json"}
    assert "replaced" in r.stderr
    before = stamp()
    assert "nothing was computed again" in dedup(place, "--eps", 0.3).stderr and stamp() == before
    darkroom("verify", place, check=0)


def test_dry_run_first_keeps_clusters_and_pairs(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    r = dedup(place, "--eps", "0.01,0.05", "--dry-run")
    assert not (place / "dedup/removed.parquet").exists() and (place / "dedup/assign_0.parquet").exists()
    assert not (place / "_darkroom/dedup-eps").exists()
    assert "nothing was computed again" in dedup(place, "--eps", "0.01,0.05", "--dry-run").stderr
    assert table(r) == table(dedup(place, "--eps", "0.01,0.05"))


def test_dry_run_takes_no_result_away(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--clusters", 3, "--order", "greedy", "--eps", 0.05)
    before = tree(place)
    said = table(dedup(place, "--eps", "0.001,0.05,0.2", "--dry-run"))
    assert tree(place) == before and said[0.05][1] == len(listed(place, "removed")["id"]) and said[0.2][1] > said[0.001][1]
    for args in (["--clusters", 5], ["--order", "collapse"]):
        r = dedup(place, *args, "--dry-run", "--force-new-run", check=7)
        assert "--dry-run replaces nothing" in r.stderr and tree(place) == before
    assert table(dedup(place, "--eps", "0.001,0.05,0.2")) == said  # so it was no guess
    easy = table(dedup(place, "--keep", "easy", "--eps", 0.2, "--dry-run", "--force-new-run"))
    assert table(dedup(place, "--keep", "easy", "--eps", 0.2, "--force-new-run")) == easy
    dedup(place, "--order", "collapse", "--force-new-run", "--eps", 0.05)
    before = tree(place)
    assert table(dedup(place, "--order", "greedy", "--eps", "0.2", "--dry-run", "--force-new-run"))[0.2] == \
        table(dedup(place, "--keep", "easy", "--order", "greedy", "--eps", "0.2", "--dry-run", "--force-new-run"))[0.2] == easy[0.2]
    assert tree(place) == before
    dedup(place, "--dry-run", "--force-new-run")  # nothing differs
    assert tree(place) == before


@pytest.mark.parametrize("args, env", [(["--threads", "1"], {}), (["--threads", "5"], {}), (["--memory", "1M"], {}),
                                       ([], {"DARKROOM_ISA": "plain"}), ([], {"DARKROOM_ISA": "avx2"})])
def test_same_bytes(demo, tmp_path, args, env):
    shutil.copytree(demo, tmp_path / "a")
    shutil.copytree(demo, tmp_path / "b")
    dedup(tmp_path / "a", "--eps", 0.05, "--layout", "nemo")
    dedup(tmp_path / "b", "--eps", 0.05, "--layout", "nemo", *args, env=env)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_tasks_share_the_pairs(demo, tmp_path):
    shutil.copytree(demo, tmp_path / "one")
    shutil.copytree(demo, tmp_path / "many")
    dedup(tmp_path / "one", "--eps", 0.05)
    r = dedup(tmp_path / "many", "--eps", 0.05, "--task", "1/2", check=2)
    assert "--task 0/2 first" in r.stderr
    for i in (0, 1):
        dedup(tmp_path / "many", "--eps", 0.05, "--task", f"{i}/2")
    assert not (tmp_path / "many/dedup/assign_0.parquet").exists()
    dedup(tmp_path / "many", "--eps", 0.05)
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


# ---- layouts ----

def nemo_place(place, parts, ids):
    place.mkdir()
    for p, x in enumerate(parts):
        lists = pa.array([None if v is None else list(map(float, v)) for v in x], pa.list_(pa.float32()))
        pq.write_table(pa.table({"key": ids[p], "image_embedding": lists}), place / f"{p:05d}.parquet")
    return place


def test_layouts_agree(tmp_path):
    rng = np.random.default_rng(11)
    x = clumps(rng, 150, 12, 6).astype(np.float32)
    ids = [[f"{i:09d}" for i in range(90)], [f"{i:09d}" for i in range(90, 150)]]
    a = retrieval(tmp_path / "a", [x[:90], x[90:]], {"key": ids})
    b = nemo_place(tmp_path / "b", [x[:90], x[90:]], ids)
    for p in (a, b):
        dedup(p, "--clusters", 5, "--eps", 0.03)
        darkroom("verify", p, check=0)
    assert assign(a) == assign(b) and listed(a, "removed") == listed(b, "removed")
    assert (b / "dedup/assign_00001.parquet").exists() and (a / "dedup/assign_1.parquet").exists()


def test_layout_nemo(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--clusters", 9, "--eps", 0.05, "--layout", "nemo")
    d = place / "dedup/nemo/clustering_results"
    c = np.load(d / "kmeans_centroids.npy")
    assert np.array_equal(c, np.load(place / "dedup/centroids.npy"))
    a, seen = assign(place), 0
    ids = [v for f in sorted((place / "metadata").iterdir()) for v in pq.read_table(f)["key"].to_pylist()]
    img = np.concatenate([np.load(f) for f in sorted((place / "img_emb").iterdir())]).astype(np.float64)
    at = {k: i for i, k in enumerate(ids)}
    for k in range(9):
        mine = [i for i, n in enumerate(a["nearest_cent"]) if n == k]
        assert (d / f"embs_by_nearest_center/nearest_cent={k}").exists() == bool(mine)
        if not mine:
            continue
        t = pq.ParquetFile(d / f"embs_by_nearest_center/nearest_cent={k}/part.0.parquet").read().to_pydict()
        assert list(t) == ["id", "embeddings", "l2_dist_to_cent", "cosine_dist_to_cent"]
        assert t["id"] == [ids[i] for i in mine]
        unit = img[mine] / np.linalg.norm(img[mine], axis=1, keepdims=True)
        np.testing.assert_allclose(np.array(t["embeddings"]), unit, atol=1e-7)
        p = pq.read_table(d / f"semdedup_pruning_tables/cluster_{k}.parquet").to_pydict()
        assert list(p) == ["id", "max_id", "cosine_sim_score"] and sorted(p["id"]) == sorted(t["id"])
        far = [(np.float32(a["cosine_dist_to_cent"][at[i]]), i) for i in p["id"]]
        assert far == sorted(far, reverse=True)  # hard
        assert [(a["max_id"][at[i]], a["cosine_sim_score"][at[i]]) for i in p["id"]] == \
            list(zip(p["max_id"], p["cosine_sim_score"]))
        seen += len(mine)
    assert seen == 252
    u = pq.read_table(d / "unique_ids_0.05.parquet").to_pydict()  # a folder, as dask writes
    assert list(u) == ["id", "cosine_dist_to_cent", "cluster"] and sorted(u["id"]) == sorted(listed(place, "removed")["id"])
    n = len(u["id"])
    assert (d / "dedup_summary_0.05.csv").read_text() == f"eps,kept,removed,total\n0.05,{252 - n},{n},252\n" and n > 20
    dedup(place, "--eps", 0.01, "--clusters", 3, "--layout", "nemo", "--force-new-run")
    left = {str(f.relative_to(d)) for f in d.rglob("*") if f.is_file()}
    assert "unique_ids_0.05.parquet/part.0.parquet" not in left
    assert len([f for f in left if "nearest_cent=" in f]) == 3 == len([f for f in left if "cluster_" in f])
    darkroom("verify", place, check=0)


@pytest.mark.parametrize("args", [["--clusters", 4], ["--eps", 0.2], ["--keep", "easy"]])
def test_layout_nemo_does_not_outlive_its_result(demo, tmp_path, args):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--clusters", 1, "--eps", 0.05, "--layout", "nemo")
    files = lambda: [f for f in (place / "dedup/nemo").rglob("*") if f.is_file()]
    made = files()
    dedup(place, "--eps", "0.05,0.3")  # one more row in the table: the same result
    assert made and files() == made and "dedup-nemo: 1 of 1" in darkroom("status", place).stdout
    before = tree(place)
    dedup(place, "--eps", "0.3", "--dry-run")
    assert tree(place) == before
    assert "dedup/nemo" in dedup(place, *args, "--force-new-run").stderr
    assert not (place / "dedup/nemo").exists() and "dedup-nemo" not in darkroom("status", place).stdout
    assert "dedup-nemo" not in darkroom("verify", place, check=0).stdout
    dedup(place, "--layout", "nemo")
    fresh = tmp_path / "fresh"
    shutil.copytree(demo, fresh)
    options = {"--clusters": 1, "--eps": 0.05, args[0]: args[1]}
    dedup(fresh, *(x for o in options.items() for x in o), "--layout", "nemo")
    assert tree(place) == tree(fresh) and files()


# ---- rows that cannot be compared ----

def test_quarantine(tmp_path):
    rng = np.random.default_rng(5)
    x = clumps(rng, 60, 8, 4).astype(np.float32)
    x[3] = 0
    x[17, 2] = np.nan
    x[41, 0] = np.inf
    x[55] = 3e38  # its length is not a number any more
    bad = {3, 17, 41, 55}
    place = retrieval(tmp_path / "p", [x[:20], x[20:]])
    ids = [f"0:{i}" for i in range(20)] + [f"1:{i}" for i in range(40)]
    r = dedup(place, "--clusters", 4, "--eps", 0.05)
    assert "4 rows are quarantined" in r.stderr and "+ 4 quarantined" in r.stderr
    a = assign(place)
    assert {i for i in range(60) if a["nearest_cent"][i] is None} == bad
    assert all(a[c][i] is None for c in a for i in bad)
    good = [i for i in range(60) if i not in bad]
    where = [(p, i) for p, n in ((0, 20), (1, 40)) for i in range(n)]
    gone = reference(x[good], [ids[i] for i in good], [where[i] for i in good], np.load(place / "dedup/centroids.npy"),
                     {c: [a[c][i] for i in good] for c in a}, "hard", "cosine", 0.05)
    check_lists(place, {good[i] for i in gone}, bad, set(range(60)), where, ids)
    assert listed(place, "quarantined")["cosine_sim_score"] == [None] * 4
    assert np.isfinite(np.load(place / "dedup/centroids.npy")).all()


def test_null_lists_are_quarantined(tmp_path):
    rng = np.random.default_rng(6)
    x = [list(v) for v in rng.normal(size=(30, 5))]
    x[0] = x[7] = None
    place = nemo_place(tmp_path / "p", [x[:12], x[12:]], [[f"{i:03d}" for i in range(12)], [f"{i:03d}" for i in range(12, 30)]])
    dedup(place, "--clusters", 2)
    assert listed(place, "quarantined")["id"] == ["000", "007"]


def test_everything_is_zero(tmp_path):
    place = retrieval(tmp_path / "p", [np.zeros((5, 4)), np.zeros((2, 4))])
    r = dedup(place, "--eps", 0.1)
    assert "no row to compare" in r.stderr and "7 rows = 0 kept + 0 removed + 7 quarantined" in r.stderr
    assert len(listed(place, "quarantined")["id"]) == 7
    darkroom("verify", place, check=0)


def test_one_row_and_copies_of_one_row(tmp_path):
    place = retrieval(tmp_path / "one", [np.ones((1, 4))])
    assert table(dedup(place)) == {0.01: (1, 0)}
    a = assign(place)
    assert (a["max_id"], a["cosine_sim_score"]) == (["0:0"], [0])
    place = retrieval(tmp_path / "same", [np.ones((50, 4))])
    assert table(dedup(place, "--clusters", 7)) == {0.01: (1, 49)}  # all but one cluster is empty
    assert np.load(place / "dedup/centroids.npy").shape == (7, 4)


def test_more_clusters_than_rows(tmp_path):
    place = retrieval(tmp_path / "p", [np.random.default_rng(0).normal(size=(30, 4))])
    r = dedup(place, "--clusters", 31, check=2)
    assert "31 clusters" in r.stderr and "30 rows" in r.stderr and "--clusters 2 would suit" in r.stderr
    assert not (place / "_darkroom").exists()  # nothing to be forced away next time
    r = dedup(place, "--clusters", 50000, "--lower-clusters", "--strict", check=2)
    r = dedup(place, "--clusters", 50000, "--lower-clusters")
    assert "50000 clusters for 30 rows: lowered to 2" in r.stderr
    assert np.load(place / "dedup/centroids.npy").shape == (2, 4)  # as if not asked: 30 clusters would compare nothing
    default = retrieval(tmp_path / "default", [np.random.default_rng(0).normal(size=(30, 4))])
    dedup(default)
    assert assign(place) == assign(default)
    assert "nothing was computed again" in dedup(place, "--clusters", 50000, "--lower-clusters").stderr
    assert table(dedup(retrieval(tmp_path / "q", [np.eye(4)]), "--clusters", 4)) == {0.01: (4, 0)}


def test_default_clusters(tmp_path):
    place = retrieval(tmp_path / "p", [np.random.default_rng(0).normal(size=(1000, 4))])
    dedup(place)
    assert len(np.load(place / "dedup/centroids.npy")) == 7  # sqrt(1000) / 5


def test_fit_fraction(tmp_path):
    x = blobs()
    place = retrieval(tmp_path / "p", [x])
    dedup(place, "--clusters", 5, "--fit-fraction", 0.4)
    sizes = sorted(np.bincount(np.load(place / "dedup/labels.npy")))
    assert np.allclose(sizes, [100, 200, 300, 400, 500], rtol=0.03)


# ---- kept only ----

def with_keep(place, sizes, keep):
    (place / "keep").mkdir()
    at, names = 0, []
    for p, n in enumerate(sizes):
        name = f"keep/keep_{p:0{len(str(len(sizes)))}d}.parquet"
        pq.write_table(pa.table({"keep": keep[at:at + n], "reason": [""] * n}), place / name)
        names.append(name)
        at += n
    receipts(place, "filter", names)


def test_kept_only(tmp_path):
    rng = np.random.default_rng(9)
    x = clumps(rng, 120, 7, 5).astype(np.float32)
    x[11] = 0
    keep = [bool(i % 3) for i in range(120)]
    place = retrieval(tmp_path / "p", [x[:50], x[50:]])
    assert "run darkroom filter first" in dedup(place, "--kept-only", check=4).stderr
    with_keep(place, [50, 70], keep)
    r = dedup(place, "--kept-only", "--clusters", 4, "--eps", 0.05)
    assert "40 rows did not pass the filter" in r.stderr
    a = assign(place)
    ids = [f"0:{i}" for i in range(50)] + [f"1:{i}" for i in range(70)]
    where = [(p, i) for p, n in ((0, 50), (1, 70)) for i in range(n)]
    good = [i for i in range(120) if keep[i] and i != 11]
    assert [i for i in range(120) if a["nearest_cent"][i] is not None] == good
    gone = reference(x[good], [ids[i] for i in good], [where[i] for i in good], np.load(place / "dedup/centroids.npy"),
                     {c: [a[c][i] for i in good] for c in a}, "hard", "cosine", 0.05)
    check_lists(place, {good[i] for i in gone}, {11}, {i for i in range(120) if keep[i]}, where, ids)
    only = retrieval(tmp_path / "only", [x[[i for i in range(120) if keep[i]]]])
    dedup(only, "--clusters", 4)
    assert np.array_equal(np.load(only / "dedup/centroids.npy"), np.load(place / "dedup/centroids.npy"))
    r = dedup(place, "--eps", 0.05, check=7)  # all rows is another thing
    assert "kept-only was 'true', now 'false'" in r.stderr
    shutil.rmtree(place / "keep")
    shutil.rmtree(place / "_darkroom/filter")
    with_keep(place, [50, 70], [not k for k in keep])
    dedup(place, "--kept-only", "--eps", 0.05)  # another filter: redone
    assert [i for i, n in enumerate(assign(place)["nearest_cent"]) if n is not None] == [i for i in range(120) if not keep[i]]


def test_filtered_but_all_rows(tmp_path):
    place = retrieval(tmp_path / "p", [np.random.default_rng(2).normal(size=(20, 4)), np.eye(4)])
    assert "--kept-only" not in dedup(place).stderr  # no filter, or before it
    with_keep(place, [20, 4], [bool(i % 3) for i in range(24)])
    assert "--kept-only" not in dedup(place).stderr  # nothing was computed
    r = dedup(place, "--seed", 1, "--force-new-run")
    assert r.stderr.count("with --kept-only only those that passed") == 1
    assert "--kept-only" in dedup(place, "--eps", 0.3).stderr
    assert "with --kept-only" not in dedup(place, "--kept-only", "--force-new-run").stderr
    half = retrieval(tmp_path / "half", [np.eye(4), np.eye(4)])
    with_keep(half, [4, 4], [True] * 8)
    (half / "keep/keep_1.parquet").unlink()
    (half / "_darkroom/filter/1.json").unlink()
    assert "--kept-only" not in dedup(half).stderr  # the filter is not finished


def test_filter_that_keeps_nothing(tmp_path):
    place = retrieval(tmp_path / "p", [np.ones((5, 3))])
    with_keep(place, [5], [False] * 5)
    r = dedup(place, "--kept-only", "--clusters", 50)
    assert "no row to compare" in r.stderr and "0 rows = 0 kept + 0 removed + 0 quarantined" in r.stderr
    assert listed(place, "kept")["id"] == []


# ---- by a column ----

@pytest.mark.parametrize("values", [
    [2 ** 53 + 1, 2 ** 53, 2 ** 53 + 2, None, 5], ["b", "a", "c", None, ""], [0.25, float("nan"), 0.5, None, -1.0],
    [True, False, True, None, False]])
def test_keep_by_column(tmp_path, values):
    place = retrieval(tmp_path / "p", [np.ones((5, 3))], {"id": [list("abcde")], "v": [values]})
    missing = lambda v: v is None or v != v
    for rule, best in (("v", max), ("v:desc", max), ("v:asc", min)):
        dedup(place, "--keep", rule, "--force-new-run")
        want = best(v for v in values if not missing(v))
        assert listed(place, "kept")["id"] == ["abcde"[values.index(want)]]


def test_column_that_is_not_there(tmp_path):
    place = retrieval(tmp_path / "p", [np.ones((5, 3))], {"id": [list("abcde")], "aesthetic_score": [[1.0] * 5]})
    assert "did you mean aesthetic_score?" in dedup(place, "--keep", "aestetic_score", check=2).stderr
    dedup(place)
    assert "use hard or easy" in dedup(place, "--keep", "cosine_dist_to_cent", "--force-new-run", check=2).stderr


# ---- eps is a distance ----

def test_eps_that_is_a_similarity(tmp_path):
    rng = np.random.default_rng(13)
    x = np.abs(rng.normal(size=(400, 8)))  # all in one corner: any two are somewhat alike
    x[300:] = x[:100] * 2
    place = retrieval(tmp_path / "p", [x])
    said = table(dedup(place, "--clusters", 4, "--eps", "0.05", "--eps-thresholds", "0.95", "--dry-run"))
    r = dedup(place, "--eps", 0.95)
    kept, removed = said[0.95]
    assert table(r) == {0.95: (kept, removed)} and removed > 390
    assert f"eps 0.95 removes every image with a neighbour of cosine >= 0.05: {removed} of 400; did you mean " \
        "similarity 0.95, that is eps 0.05?" in r.stderr
    four = f"as the guide runs (eps 0.95, mask inverted) {removed}; mask repaired {kept}; " \
        f"eps repaired (0.05) {said[0.05][1]}; both repaired {said[0.05][0]}"
    assert four in r.stderr
    before = tree(place)
    r = dedup(place, "--eps", 0.95, "--strict", check=2)
    assert "did you mean similarity 0.95, that is eps 0.05?" in r.stderr and tree(place) == before
    assert "distance" not in dedup(place, "--eps", 0.5).stderr


def test_eps_that_is_a_similarity_in_greedy_order(tmp_path):
    x = np.abs(np.random.default_rng(14).normal(size=(200, 8)))
    x[150:] = x[:50] * 2
    place = retrieval(tmp_path / "p", [x])
    r = dedup(place, "--clusters", 3, "--order", "greedy", "--eps", "0.95,0.05")
    said = table(r)
    assert said[0.95][0] < 20 < said[0.05][1] < 200
    assert f"as the guide runs (eps 0.95, mask inverted) {said[0.95][1]}; mask repaired {said[0.95][0]}; " \
        f"eps repaired (0.05) {said[0.05][1]}; both repaired {said[0.05][0]}" in r.stderr
    again = dedup(place, "--eps", 0.95)
    assert f"both repaired {said[0.05][0]}" in again.stderr and table(again) == {0.95: said[0.95]}


@pytest.mark.parametrize("args, words", [
    (["--eps", "1.5"], "from 0 to 1"), (["--eps", "x"], "takes a number"), (["--similarity", "-1"], "from 0 to 1"),
    (["--eps", "0.1", "--similarity", "0.9"], "give one of them"), (["--clusters", "-3"], "--clusters must be"),
    (["--order", "sideways"], "collapse or greedy"), (["--metric", "dot"], "cosine or l2"), (["--init", "best"], "k-means||"),
    (["--fit-fraction", "0"], "share of the rows"), (["--seed", "-1"], "whole number"), (["--tol", "-1"], "--tol"),
    (["--task", "2/2"], "--task"), (["--order", "greedy", "--eps", "1"], "below 1"), (["--keep", ":asc"], "--keep takes"),
    (["--eps", ",".join(str(i / 100) for i in range(40))], "more than 32")])
def test_usage(tmp_path, args, words):
    place = retrieval(tmp_path / "p", [np.ones((3, 3))])
    assert words in dedup(place, *args, check=2).stderr
    assert not (place / "_darkroom").exists() and not (place / "dedup").exists()


def test_lists_of_eps(tmp_path):
    place = retrieval(tmp_path / "p", [np.random.default_rng(0).normal(size=(40, 4))])
    for args in (["--eps", "0.1,0.2"], ["--eps", "[0.1, 0.2]"], ["--eps", "0.1", "--eps", "0.2"], ["--similarity", "0.9,0.8"],
                 ["--eps_to_extract=0.1", "--eps_thresholds=[0.2]"]):
        assert list(table(dedup(place, *args))) == [0.1, 0.2]
    config = tmp_path / "c.yaml"
    config.write_text("eps: [0.1, 0.2]\nn_clusters: 3\nwhich_to_keep: easy\nrandom_state: 5\nmax_iter: 7\n")
    assert list(table(dedup(place, "--config", config, "--force-new-run"))) == [0.1, 0.2]
    run = json.loads((place / "_darkroom/dedup-clusters/run.json").read_text())
    assert (run["clusters"], run["seed"], run["max-iter"]) == ("3", "5", "7")


# ---- bad input ----

def test_another_run_is_refused(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--clusters", 4, "--keep", "hard")
    before = tree(place)
    for args, words in ((["--clusters", 5], "clusters was '4', now '5'"), (["--seed", 1], "seed was '0', now '1'"),
                        (["--keep", "easy"], "keep was 'hard', now 'easy'"), (["--order", "greedy"], "order was"),
                        (["--metric", "l2"], "metric was")):
        r = dedup(place, *args, check=7)
        assert words in r.stderr and "--force-new-run" in r.stderr
    assert tree(place) == before
    labels = (place / "dedup/labels.npy").stat().st_ino
    dedup(place, "--keep", "easy", "--force-new-run")
    assert (place / "dedup/labels.npy").stat().st_ino == labels  # the clusters are still good
    dedup(place, "--clusters", 5, "--force-new-run")
    assert len(np.load(place / "dedup/centroids.npy")) == 5
    fresh = tmp_path / "fresh"
    shutil.copytree(demo, fresh)
    dedup(fresh, "--clusters", 5, "--keep", "easy")
    assert tree(place) == tree(fresh)


def test_changed_embeddings_are_noticed(tmp_path):
    rng = np.random.default_rng(3)
    place = retrieval(tmp_path / "p", [rng.normal(size=(30, 4)), rng.normal(size=(20, 4))])
    dedup(place, "--clusters", 3)
    np.save(place / "img_emb/img_emb_1.npy", rng.normal(size=(20, 4)).astype(np.float32))
    r = dedup(place)
    assert "k-means" in r.stderr and "nothing" not in r.stderr


def test_sidecars_that_do_not_fit(tmp_path):
    rng = np.random.default_rng(4)
    a = retrieval(tmp_path / "dims", [rng.normal(size=(5, 4)), rng.normal(size=(5, 3))])
    r = dedup(a, check=4)
    assert "of 3 numbers" in r.stderr and "of 4" in r.stderr
    b = retrieval(tmp_path / "rows", [rng.normal(size=(5, 4))], {"key": [list("abcd")]})
    r = dedup(b, check=4)
    assert "has 4 rows" in r.stderr and "5" in r.stderr
    assert "k-means" not in r.stderr and not (b / "dedup").exists()  # before the work, not after it
    c = retrieval(tmp_path / "kept", [rng.normal(size=(5, 4))])
    with_keep(c, [4], [True] * 4)
    assert "k-means" not in dedup(c, "--kept-only", check=4).stderr and not (c / "dedup").exists()
    assert dedup(tmp_path / "nowhere", check=4)
    (tmp_path / "empty").mkdir()
    assert "no embeddings" in dedup(tmp_path / "empty", check=4).stderr


def test_place_that_is_not_whole(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    (place / "_darkroom/embed/1.json").unlink()
    r = dedup(place, "--eps", 0.05, check=3)
    assert "1 partition is not embedded yet" in r.stderr and not (place / "dedup/assign_1.parquet").exists()
    assert "1 missing" in darkroom("status", place).stdout


def test_damaged_product_is_made_again(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    dedup(place, "--eps", 0.05)
    want = tree(place)
    for name in ("dedup/labels.npy", "dedup/assign_1.parquet", "dedup/kept.parquet", "dedup/centroids.npy"):
        (place / name).write_bytes(b"x")
        dedup(place, "--eps", 0.05)
        assert tree(place) == want, name


# ---- interruption ----

@pytest.mark.parametrize("point, n", [("checkpoint", 1), ("block", 1), ("receipt", 1), ("receipt", 2), ("receipt", 3),
                                      ("receipt", 5), ("renamed", 2), ("renamed", 4), ("renamed", 7), ("written", 9),
                                      ("committed", 11), ("synced", 14), ("synced", 25), ("written", 36)])
def test_kill_and_go_on(demo, tmp_path, point, n):
    clean, place = tmp_path / "clean", tmp_path / "p"
    for p in (clean, place):
        shutil.copytree(demo, p)
    args = ("--clusters", 12, "--eps", 0.05, "--layout", "nemo")
    if point == "checkpoint":  # needs a fit of some length
        x = np.random.default_rng(1).normal(size=(20000, 16)).astype(np.float16)
        for p in (clean, place):
            shutil.rmtree(p)
            retrieval(p, [x], dtype=np.float16)
            os.utime(p / "img_emb/img_emb_0.npy", ns=(1, 1))
        args = ("--clusters", 250, "--eps", 0.05, "--max-iter", 40)
    dedup(clean, *args)
    r = darkroom("dedup", place, *args, env={"DARKROOM_CRASH": f"{point}:{n}"})
    assert r.returncode == -signal.SIGKILL
    r = dedup(place, *args)
    if point == "checkpoint":
        assert "goes on after round" in r.stderr
    darkroom("gc", place, check=0)
    darkroom("verify", place, check=0)
    assert tree(place) == tree(clean)


def test_stopped_by_a_signal(tmp_path):
    place = retrieval(tmp_path / "p", [np.random.default_rng(1).normal(size=(100000, 32)).astype(np.float16)], dtype=np.float16)
    p = subprocess.Popen([DARKROOM, "dedup", place, "--clusters", "2000", "--tol", "0"], stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        p.wait(1)
    p.terminate()
    _, err = p.communicate(timeout=60)
    assert p.returncode == 75 and "the same command goes on from here" in err


def test_json_events(demo, tmp_path):
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    events = [json.loads(line) for line in dedup(place, "--eps", "0.05,0.01", "--json").stdout.splitlines()]
    assert [e["event"] for e in events] == ["start", "eps", "eps", "done"]
    assert events[1] == {"event": "eps", "eps": 0.05, "kept": 227, "removed": 25, "total": 252}
    assert events[-1]["kept"] + events[-1]["removed"] + events[-1]["quarantined"] == events[-1]["rows"] == 252


def test_read_only_place(demo, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    place = tmp_path / "p"
    shutil.copytree(demo, place)
    os.chmod(place, 0o555)
    dedup(place, check=5)
