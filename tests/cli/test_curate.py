"""curate: the file of NeMo Curator's guide as it is, what its keys become, and that the whole is its steps."""
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import tarfile
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import DARKROOM, ROOT, darkroom, sample, tree, write_tar

GUIDE = """\
embedding: {model_name: "vit_large_patch14_clip_quickgelu_224.openai", batch_size: 1024, num_threads_per_worker: 16, normalize_embeddings: true, autocast: false}
aesthetic_classifier: {score_threshold: 6.0, batch_size: 512}
nsfw_classifier: {score_threshold: 0.2, batch_size: 512}
semantic_deduplication: {max_iter: 100, n_clusters: 50000, random_state: 42, eps_thresholds: [0.9, 0.95, 0.99], eps_to_extract: 0.95, which_to_keep: "hard"}
filtering: {min_resolution: 256, max_aspect_ratio: 3.0, min_aesthetic_score: 6.0, max_nsfw_score: 0.2}
"""
SMALL = """\
embedding: {model_name: tiny}
aesthetic_classifier: {score_threshold: 5}
filtering: {min_resolution: 70}
semantic_deduplication: {n_clusters: 2, eps_to_extract: 0.001}
"""
TIMED = ("live", "report.html")  # what depends on time


def save_weights(path, tensors):
    """safetensors by hand: a length, a JSON header, the numbers."""
    header, data = {}, b""
    for name, t in tensors.items():
        t = np.ascontiguousarray(t, np.float32)
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + t.nbytes]}
        data += t.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def chain(names, matrices, biases):
    return {f"{n}.{part}": v for n, w, b in zip(names, matrices, biases) for part, v in (("weight", w), ("bias", b))}


@pytest.fixture
def models(tmp_path, pictures):
    """A small timm model under the guide's name, and heads of its width that spread these pictures over the rules:
    aesthetic 6 + 2 x along one direction of their embeddings, nsfw sigmoid(6 x - 3) along another."""
    d = tmp_path / "models"
    model = d / "vit_large_patch14_clip_quickgelu_224.openai"
    shutil.copytree(ROOT / "tests/golden/clip/timm", model)
    darkroom("embed", pictures, tmp_path / "seen", "--model", model, "--dtype", "f32", check=0)
    x = np.concatenate([np.load(f) for f in sorted((tmp_path / "seen/img_emb").glob("*.npy"))]).astype(np.float64)
    mean, (_, s, v) = x.mean(0), np.linalg.svd(x - x.mean(0), full_matrices=False)
    one = 2 * v[0] / (s[0] / len(x) ** 0.5)
    eye = np.eye(2)
    save_weights(d / "aesthetic.safetensors", chain(
        [f"layers.{i}" for i in (0, 2, 4, 6, 7)], [np.stack([one, one * 0]), eye, eye, eye, [[1.0, 0.0]]],
        [[6 - one @ mean, 0], [0, 0], [0, 0], [0, 0], [0]]))
    two = v[1] / (s[1] / len(x) ** 0.5)
    save_weights(d / "nsfw.safetensors", {"norm.mean": mean, "norm.variance": np.full(20, 1.0)} | chain(
        [f"linear_{i}" for i in (1, 2, 3, 4)], [np.stack([two, -two]), eye, eye, [[6.0, -6.0]]], [[0, 0], [0, 0], [0, 0], [-3]]))
    return d


def picture_sample(i, w, h):
    from conftest import picture
    return f"{i:09d}", {"jpg": picture(i, w, h), "txt": f"picture {i}".encode(), "json": json.dumps({"key": f"{i:09d}"}).encode()}


@pytest.fixture
def pictures(tmp_path):
    """Two shards of 40: small ones, long ones, copies."""
    d = tmp_path / "pictures"
    d.mkdir()
    sizes = [(300, 280), (200, 300), (1000, 300), (280, 400)]
    for s in range(2):
        made = [picture_sample(i, *sizes[i % 4]) for i in range(40 * s, 40 * s + 30)]
        copies = [(f"{1000 + 40 * s + i:09d}", made[i][1]) for i in range(10)]
        write_tar(d / f"{s:05d}.tar", made + copies)
    return d


def write(tmp_path, text, name="curation.yaml"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def columns(place, kind, *names):
    files = sorted((place / kind).glob("*_*.parquet"))
    return [sum((pq.read_table(f)[n].to_pylist() for f in files), []) for n in names]


def exported(folder):
    keys = []
    for t in sorted(folder.glob("*.tar")):
        keys += [m.name[:-4] for m in tarfile.open(t) if m.name.endswith(".jpg")]
    return keys


def test_the_guides_file_as_it_is(tmp_path, models, pictures):
    place, yaml = tmp_path / "place", write(tmp_path, GUIDE, "image_config.yaml")
    r = darkroom("curate", yaml, pictures, place, "--model-dir", models, check=0)
    assert "lowered to" in r.stderr and "did you mean similarity 0.95" in r.stderr

    (keep, reason), (a, n) = columns(place, "keep", "keep", "reason"), columns(place, "scores", "aesthetic_score", "nsfw_score")
    key, w, h = columns(place, "metadata", "key", "width", "height")
    rules = [("aesthetic_score >= 6.0", lambda i: a[i] >= 6), ("nsfw_score < 0.2", lambda i: n[i] < 0.2),
             ("min(width, height) >= 256", lambda i: min(w[i], h[i]) >= 256),
             ("aspect <= 3.0", lambda i: max(w[i], h[i]) <= 3 * min(w[i], h[i])),
             ("aesthetic_score >= 6.0", lambda i: True), ("nsfw_score <= 0.2", lambda i: True)]
    want = [next((text for text, ok in rules if not ok(i)), "") for i in range(80)]
    assert reason == want and keep == [not x for x in want]
    assert {"", *(t for t, _ in rules[:4])} <= set(reason)  # every rule has work

    removed = pq.read_table(place / "dedup/removed.parquet")["id"].to_pylist()
    assert exported(place / "curated") == [k for k, ok in zip(key, keep) if ok and k not in removed]
    table = [line.split(",") for line in (place / "dedup/summary.csv").read_text().split()[1:]]
    assert sorted(row[0] for row in table) == ["0.9", "0.95", "0.99"] and {int(r[1]) + int(r[2]) for r in table} == {sum(keep)}
    assert "</html>" in (place / "report.html").read_text()

    before = tree(place, TIMED)
    again = darkroom("curate", yaml, pictures, place, "--model-dir", models, check=0)
    assert again.stderr.count("nothing to do") >= 4 and tree(place, TIMED) == before


def test_it_is_the_verbs_one_by_one(tmp_path, pictures):
    yaml = write(tmp_path, SMALL)
    r = darkroom("curate", yaml, pictures, tmp_path / "typed", "--print-config", check=0)
    assert not (tmp_path / "typed").exists()
    for line in r.stdout.splitlines():
        assert darkroom(*shlex.split(line)[1:]).returncode == 0, line
    darkroom("curate", yaml, pictures, tmp_path / "whole", check=0)
    mine, typed = tree(tmp_path / "whole", TIMED), tree(tmp_path / "typed", TIMED)
    # the export's own record names the folder it went to
    other = [k for k in mine if mine[k].replace(b"/whole", b"/typed") != typed.get(k)]
    assert mine.keys() == typed.keys() and all("export" in k for k in other), other


def test_dedup_first(tmp_path, pictures):
    yaml = write(tmp_path, SMALL)
    for _ in range(2):
        r = darkroom("curate", yaml, pictures, tmp_path / "p", "--dedup-first", check=0)
        assert "--kept-only" not in r.stderr  # all rows are meant
    assert len(pq.read_table(tmp_path / "p/dedup/removed.parquet")) >= 20  # all copies, filtered or not
    darkroom("curate", yaml, pictures, tmp_path / "q", check=0)
    kept = columns(tmp_path / "q", "keep", "keep")[0]
    total = sum(len(pq.read_table(tmp_path / f"q/dedup/{n}.parquet")) for n in ("kept", "removed", "quarantined"))
    assert total == sum(kept)
    assert exported(tmp_path / "p/curated") == exported(tmp_path / "q/curated")


@pytest.mark.parametrize("text, code, says", [
    ("embedding: {modelname: tiny}\n", 2, "c.yaml:1: unknown key 'modelname' in embedding; did you mean 'model_name'?"),
    ("embedding:\n  model_name: tiny\nfiltring: {min_resolution: 3}\n", 2, "c.yaml:3: unknown section 'filtring'; did you mean 'filtering'?"),
    ("embedding:\n\tmodel_name: tiny\n", 4, "c.yaml:2"),
    ("embedding: {model_name: tiny, model_name: tiny}\n", 4, "c.yaml:1: this key stands here twice"),
    ("filtering: {min_resolution: big}\n", 2, "c.yaml:1: filtering.min_resolution: takes a number, not 'big'"),
    ("filtering: {min_resolution: [1, 2]}\n", 2, "takes one value, not a list"),
    ("embedding: {batch_size: many}\n", 2, "--batch-size takes a whole number, not 'many'"),
    ("embedding: {autocast: perhaps}\n", 2, "takes true or false, not 'perhaps'"),
    ("embedding: tiny\n", 2, "embedding takes keys and values"),
    ("[1, 2]\n", 2, "sections such as 'embedding:' are expected"),
    ("embedding: {normalize_embeddings: false}\nsemantic_deduplication: {eps_to_extract: 0.1}\n", 2, "no cosines"),
    ("semantic_deduplication: {eps_thresholds: [0.1]}\n", 2, "eps_to_extract must say which one counts"),
    ("semantic_deduplication: {kmeans_with_cos_dist: true}\n", 2, "spherical"),
    ("semantic_deduplication: {which_to_keep: none_such}\n", 2, "none_such"),
    ("filtering: {where: 'wdith > 3'}\n", 2, "did you mean 'width'"),
    ("filtering: {where: ['width > 3', 'width >']}\n", 2, "c.yaml:1: filtering.where: "),
    ("semantic_deduplication: {n_clusters: 5.5}\n", 2, "c.yaml:1: semantic_deduplication.n_clusters"),
    ("aesthetic_classifier: {model_path: /none/such.pth}\n", 4, "/none/such.pth: no such file"),
    ("embedding: &a {model_name: tiny}\nfiltering: *a\n", 4, "anchors"),
])
def test_mistakes_in_the_file(tmp_path, shards, text, code, says):
    yaml = write(tmp_path, text, "c.yaml")
    r = darkroom("curate", yaml, shards, tmp_path / "p", "--set", "embedding.vocab=null",
                 *([] if "model_name" in text or "odel" in text else ["--set", "embedding.model_name=tiny"]), check=code)
    assert says in r.stderr, r.stderr


def test_other_mistakes(tmp_path, shards):
    assert "YAML SHARDS... PLACE" in darkroom("curate", write(tmp_path, SMALL), shards, check=2).stderr
    assert "cannot be opened" in darkroom("curate", tmp_path / "none.yaml", shards, tmp_path / "p", check=4).stderr
    bad = darkroom("curate", write(tmp_path, SMALL), shards, tmp_path / "p", "--set", "nonsense", check=2)
    assert "section.key=value" in bad.stderr
    assert "--print-config" in darkroom("curate", write(tmp_path, SMALL), shards, tmp_path / "p", "--task", "0/2", check=2).stderr


def plan(tmp_path, text, *args):
    r = darkroom("curate", write(tmp_path, text), "s.tar", "place", "--print-config", *args, check=0)
    return {shlex.split(line)[1]: shlex.split(line)[2:] for line in r.stdout.splitlines()}


def test_overrides(tmp_path):
    p = plan(tmp_path, GUIDE, "--set", "semantic_deduplication.eps_to_extract=0.05", "--set", "filtering.min_resolution=512",
             "--set", "export.samples_per_shard=7", "--set", "filtering.where=['width > 3', \"caption != ''\"]",
             "--set", "semantic_deduplication.eps_thresholds=[0.01, 0.05]")
    assert "--eps=0.05" in p["dedup"] and "--eps-thresholds=0.01,0.05" in p["dedup"] and "--samples-per-shard=7" in p["export"]
    assert {"--where=min(width, height) >= 512", "--where=width > 3", "--where=caption != ''"} <= set(p["filter"])
    assert "--where=min(width, height) >= 256" not in p["filter"]


D08 = """\
# NeMo Curator 0.8, config/sem_dedup_config.yaml
cache_dir: "semdedup_cache"
num_files: 16
profile_dir: null
embedding_model_name_or_path: "sentence-transformers/all-MiniLM-L6-v2"
embedding_batch_size: 128
embeddings_save_loc: "embeddings"
embedding_max_mem_gb: 25
embedding_pooling_strategy: "mean_pooling"
embedding_column: "embeddings"
write_embeddings_to_disk: true
write_to_filename: false
max_iter: 100
n_clusters: 1000
clustering_save_loc: "clustering_results"
random_state: 1234
sim_metric: "cosine"
which_to_keep: "hard"
batched_cosine_similarity: 1024
clustering_input_partition_size: "2gb"
eps_to_extract: 0.01
"""
D06 = """\
cache_dir: "semdedup_cache"
num_files: -1
embeddings_save_loc: "embeddings"
embedding_model_name_or_path: "sentence-transformers/all-MiniLM-L6-v2"
embedding_batch_size: 128
embedding_max_mem_gb: 25
clustering_save_loc: "clustering_results"
n_clusters: 10
seed: 1234
max_iter: 100
kmeans_with_cos_dist: false
which_to_keep: "easy"
largest_cluster_size_to_process: 100000
sim_metric: "l2"
eps_thresholds: [0.01, 0.001]
eps_to_extract: 0.01
"""


def test_nemos_own_dedup_files(tmp_path, pictures):
    p = plan(tmp_path, D08)["dedup"]
    assert {"--clusters=1000", "--max-iter=100", "--seed=1234", "--metric=cosine", "--keep=hard", "--eps=0.01"} <= set(p)
    p = plan(tmp_path, D06)["dedup"]
    assert {"--clusters=10", "--seed=1234", "--metric=l2", "--keep=easy", "--eps=0.01", "--eps-thresholds=0.01,0.001"} <= set(p)
    darkroom("curate", write(tmp_path, D06), pictures, tmp_path / "p", "--set", "embedding.model_name=tiny",
             "--set", "semantic_deduplication.n_clusters=2", check=0)
    assert len(pq.read_table(tmp_path / "p/dedup/removed.parquet")) >= 20


def test_the_example_is_valid(tmp_path):
    text = darkroom("curate", "--example", check=0).stdout
    p = plan(tmp_path, text)
    assert list(p) == ["embed", "score", "filter", "dedup", "export", "report"]


def test_keeping_nothing_is_no_failure(tmp_path, shards):
    text = SMALL.replace("70", "100000")
    r = darkroom("curate", write(tmp_path, text), shards, tmp_path / "p", check=0)
    assert "nothing is kept" in r.stderr and "nothing is left to export" in r.stderr
    assert exported(tmp_path / "p/curated") == []
    assert "</html>" in (tmp_path / "p/report.html").read_text()


def test_strict(tmp_path, pictures):
    text = SMALL.replace("n_clusters: 2", "n_clusters: 5000")
    darkroom("curate", write(tmp_path, text), pictures, tmp_path / "p", "--strict", check=2)
    assert "lowered" in darkroom("curate", write(tmp_path, text), pictures, tmp_path / "p", check=0).stderr


def test_prompts_use_the_model_of_embed(tmp_path, shards):
    text = SMALL + "scores: {prompts: {red: a red circle | a blue star}}\n"
    darkroom("curate", write(tmp_path, text), shards, tmp_path / "p", check=0)
    assert all(0 <= x <= 1 for x in columns(tmp_path / "p", "scores", "red_score")[0])


def test_another_eps_gives_other_shards(tmp_path, pictures):
    place = tmp_path / "p"
    darkroom("curate", write(tmp_path, SMALL), pictures, place, check=0)
    first = exported(place / "curated")
    darkroom("curate", write(tmp_path, SMALL), pictures, place, "--set", "semantic_deduplication.eps_to_extract=0.5", check=0)
    assert len(exported(place / "curated")) < len(first)


def test_stopped_and_killed_runs_go_on(tmp_path, pictures):
    yaml = write(tmp_path, SMALL)
    darkroom("curate", yaml, pictures, tmp_path / "whole", check=0)
    want = tree(tmp_path / "whole", TIMED)
    env = dict(os.environ, DARKROOM_HOME=str(ROOT))
    for n, how in enumerate([signal.SIGTERM, signal.SIGKILL, signal.SIGKILL]):
        place = tmp_path / f"p{n}"
        p = subprocess.Popen([str(DARKROOM), "curate", str(yaml), str(pictures), str(place), "-q"], env=env)
        time.sleep(0.05 + 0.25 * n)
        p.send_signal(how)
        assert p.wait(30) in (75, -how, 0)
        darkroom("curate", yaml, pictures, place, check=0)
        darkroom("gc", place, check=0)
        got = {k: v.replace(f"/p{n}".encode(), b"/whole") for k, v in tree(place, TIMED).items()}
        assert {k for k in got if got[k] != want.get(k)} <= {k for k in got if "export" in k}
        assert got.keys() == want.keys()


def test_a_place_of_clip_retrieval(tmp_path, shards):
    darkroom("embed", shards, tmp_path / "own", "--model", "tiny", check=0)
    place = tmp_path / "theirs"
    for kind in ("img_emb", "metadata"):
        shutil.copytree(tmp_path / "own" / kind, place / kind)
    r = darkroom("curate", write(tmp_path, SMALL), shards, place, check=0)
    assert "embedded by another program" in r.stderr
    darkroom("curate", write(tmp_path, SMALL), shards, tmp_path / "own", check=0)
    assert exported(place / "curated") == exported(tmp_path / "own/curated")
