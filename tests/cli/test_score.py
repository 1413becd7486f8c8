"""score from end to end: numbers of every known network, columns that stay and columns that are
replaced, three layouts, rows without a direction, and what is refused."""
import json
import math
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, darkroom, sample, tree, write_tar

HEADS = ROOT / "tests/golden/heads"
CASES = sorted(p.name for p in HEADS.iterdir())
QUIET_HOME = {"HOME": "/nonexistent", "DARKROOM_HOME": "/nonexistent"}


def read_safetensors(path):
    raw = Path(path).read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    kinds = {"F32": np.float32, "F16": np.float16}
    return {k: np.frombuffer(raw[8 + n:][v["data_offsets"][0]:v["data_offsets"][1]], kinds[v["dtype"]]).reshape(v["shape"])
            for k, v in json.loads(raw[8:8 + n]).items() if k != "__metadata__"}


def write_safetensors(path, tensors):
    head, data = {}, b""
    for k, v in tensors.items():
        v = np.ascontiguousarray(v, np.float32)
        head[k] = {"dtype": "F32", "shape": list(v.shape), "data_offsets": [len(data), len(data) + v.nbytes]}
        data += v.tobytes()
    text = json.dumps(head).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def linear_head(path, width=24, seed=0):
    """A head of one layer; its weights and bias."""
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal(width).astype(np.float32), np.float32(rng.standard_normal())
    write_safetensors(path, {"weight": w[None], "bias": [b]})
    return w.astype(np.float64), float(b)


def exact(rows, w, b):
    x = rows.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True) @ w + b


def retrieval(place, *parts, digits=1, numbers=None):
    """A folder as clip-retrieval leaves it, without receipts."""
    (place / "img_emb").mkdir(parents=True)
    for i, rows in enumerate(parts):
        np.save(place / f"img_emb/img_emb_{numbers[i] if numbers else i:0{digits}d}.npy", rows)
    return place


def rows(n=11, width=24, seed=1, dtype=np.float32):
    x = np.random.default_rng(seed).standard_normal((n, width))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)


def score(place, *args, check=0, **kw):
    return darkroom("score", place, *args, check=check, **kw)


def columns(place, part="0"):
    return pq.read_table(place / f"scores/scores_{part}.parquet").to_pydict()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """Three shards of 7, 5 and 6 samples, and the place they were embedded into."""
    d = tmp_path_factory.mktemp("embedded")
    (d / "shards").mkdir()
    for s, (first, n) in enumerate(((0, 7), (7, 5), (12, 6))):
        write_tar(d / f"shards/{s:05d}.tar", [sample(first + i) for i in range(n)])
    darkroom("embed", d / "shards", d / "place", "--model", "tiny", "--dtype", "f32", check=0)
    return d


@pytest.fixture
def tiny(embedded, tmp_path):
    """A copy of that place."""
    return Path(shutil.copytree(embedded / "place", tmp_path / "place"))


def head_file(case):
    return next(p for n in ("head.json", "head.pth", "head.safetensors") if (p := HEADS / case / n).exists())


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_torch(case, tmp_path):
    want = read_safetensors(HEADS / case / "want.safetensors")
    place = retrieval(tmp_path / "place", want["rows"])
    score(place, "--head", f"x={head_file(case)}")
    got = np.array(columns(place)["x_score"])
    assert np.abs(got - want["score"]).max() < 3e-6 * np.abs(want["score"]).max()
    table = pq.read_table(place / "scores/scores_0.parquet")
    assert table.schema.field("x_score").type == pa.float32()


def test_built_in_heads(tiny):
    r = score(tiny, "--head", "aesthetic", "--head", "nsfw")
    assert "models/tiny/aesthetic.pth" in r.stderr
    for p, n in enumerate((7, 5, 6)):
        got = columns(tiny, p)
        assert list(got) == ["aesthetic_score", "nsfw_score"] and len(got["nsfw_score"]) == n
        assert all(1 < x < 11 for x in got["aesthetic_score"]) and all(0 <= x <= 1 for x in got["nsfw_score"])
    receipt = json.loads((tiny / "_darkroom/score/0.json").read_text())
    assert receipt["rows"] == 7 and [f["name"] for f in receipt["inputs"]] == ["img_emb/img_emb_0.npy"]
    darkroom("verify", tiny, check=0)


def test_same_command_again_does_nothing(tiny):
    score(tiny, "--head", "aesthetic")
    before = {p: p.stat().st_mtime_ns for p in tiny.rglob("*") if p.is_file()}
    assert "nothing to do" in score(tiny, "--head", "aesthetic").stderr
    assert before == {p: p.stat().st_mtime_ns for p in tiny.rglob("*") if p.is_file()}


def test_bytes_do_not_depend_on_threads_batch_or_tasks(tiny, tmp_path):
    args = ["--head", "aesthetic", "--head", "nsfw", "--prompts", "red: a red circle | a blue square", "--model", "tiny"]
    shutil.copytree(tiny, tmp_path / "one", copy_function=shutil.copy2)
    score(tmp_path / "one", *args)
    for more in (["--threads", "1", "--batch-size", "1"], ["--threads", "3", "--batch-size", "5"], ["--batch-size", "-1"]):
        place = tmp_path / "other"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tiny, place, copy_function=shutil.copy2)
        score(place, *args, *more)
        assert tree(tmp_path / "one") == tree(place)
    for i in (2, 0, 3, 1):
        score(tiny, *args, "--task", f"{i}/4")
    assert tree(tmp_path / "one") == tree(tiny)


def test_one_partition_uses_all_threads_with_the_same_bytes(tmp_path):
    x = rows(1500, seed=3, dtype=np.float16)
    for i, threads in enumerate((1, 4)):
        place = retrieval(tmp_path / f"p{i}", x)
        os.utime(place / "img_emb/img_emb_0.npy", (0, 0))
        score(place, "--head", f"x={head_file('nsfw')}", "--threads", str(threads))
    assert (tmp_path / "p0/scores/scores_0.parquet").read_bytes() == (tmp_path / "p1/scores/scores_0.parquet").read_bytes()


def test_columns_of_other_names_stay(tiny, tmp_path):
    shutil.copytree(tiny, tmp_path / "other", copy_function=shutil.copy2)
    score(tiny, "--head", "nsfw")
    before = columns(tiny)
    score(tiny, "--head", "aesthetic")
    assert columns(tiny) == {"aesthetic_score": columns(tiny)["aesthetic_score"], **before}
    assert "nothing to do" in score(tiny, "--head", "nsfw").stderr
    score(tmp_path / "other", "--head", "aesthetic", "--head", "nsfw")  # the order leaves no trace
    assert tree(tiny) == tree(tmp_path / "other")


def test_tasks_of_two_heads_may_be_interleaved(tiny, tmp_path):
    shutil.copytree(tiny, tmp_path / "other", copy_function=shutil.copy2)
    score(tmp_path / "other", "--head", "aesthetic", "--head", "nsfw")
    for i in range(3):
        score(tiny, "--head", "aesthetic", "--task", f"{i}/3")
        score(tiny, "--head", "nsfw", "--task", f"{i}/3")
    assert tree(tiny) == tree(tmp_path / "other")


def test_another_head_replaces_its_column_everywhere(tiny, tmp_path):
    score(tiny, "--head", "aesthetic", "--head", "nsfw")
    old = columns(tiny, 1)
    w, b = linear_head(tmp_path / "mine.safetensors", 96)
    r = score(tiny, "--head", f"aesthetic={tmp_path / 'mine.safetensors'}", "--task", "0/3")
    assert "aesthetic_score was made by another head: it is replaced" in r.stderr
    # the other partitions count as not scored until they are done: no reader mixes two heads
    state = json.loads(darkroom("status", "--json", tiny, check=0).stdout.splitlines()[1])
    assert state["product"] == "score" and (state["done"], state["missing"]) == (1, 2)
    score(tiny, "--head", f"aesthetic={tmp_path / 'mine.safetensors'}")
    for p in range(3):
        emb = np.load(tiny / f"img_emb/img_emb_{p}.npy")
        assert np.allclose(columns(tiny, p)["aesthetic_score"], exact(emb, w, b), atol=1e-5)
    assert columns(tiny, 1)["nsfw_score"] == old["nsfw_score"]
    darkroom("verify", tiny, check=0)


def test_crash_between_file_and_receipt_loses_no_column(tiny):
    score(tiny, "--head", "aesthetic")
    before = columns(tiny)["aesthetic_score"]
    r = darkroom("score", tiny, "--head", "nsfw", "--threads", "1", env={"DARKROOM_CRASH": "receipt:1"})
    assert r.returncode == -9 and not (tiny / "_darkroom/score/0.json").exists()
    score(tiny, "--head", "nsfw")
    assert columns(tiny)["aesthetic_score"] == before and len(columns(tiny)["nsfw_score"]) == 7
    darkroom("verify", tiny, check=0)


def test_columns_of_other_embeddings_go(tiny, embedded):
    score(tiny, "--head", "aesthetic")
    darkroom("embed", embedded / "shards", tiny, "--model", "tiny", "--force-new-run", check=0)
    r = score(tiny, "--head", "nsfw")
    assert "aesthetic_score is of other embeddings and goes" in r.stderr
    assert list(columns(tiny)) == ["nsfw_score"]


def test_columns_of_the_user_stay(tmp_path):
    place = retrieval(tmp_path / "place", rows(5))
    (place / "scores").mkdir()
    mine = pa.table({"who": ["a", None, "c", "d", "e"], "n": pa.array([1, 2, None, 4, 5], pa.int64()),
                     "ok": [True, False, None, True, True], "d": pa.array([.1, .2, .3, None, .5], pa.float64()),
                     "vec": pa.array([[1.0, 2.0], [], None, [3.0], [4.0]], pa.list_(pa.float32()))})
    pq.write_table(mine, place / "scores/scores_0.parquet")
    w, b = linear_head(tmp_path / "h.safetensors")
    score(place, "--head", f"h={tmp_path / 'h.safetensors'}")
    got = columns(place)
    assert {k: got[k] for k in mine.column_names} == mine.to_pydict()
    assert np.allclose(got["h_score"], exact(rows(5), w, b), atol=1e-6)
    pq.write_table(mine.slice(0, 4), place / "scores/scores_0.parquet")
    r = score(place, "--head", f"h={tmp_path / 'h.safetensors'}", check=4)
    assert "scores_0.parquet has 4 rows, but its partition 5" in r.stderr


def test_damaged_scores(tiny):
    score(tiny, "--head", "aesthetic")
    (tiny / "scores/scores_0.parquet").write_bytes(b"not a table")
    assert "it is written anew" in score(tiny, "--head", "aesthetic").stderr
    assert len(columns(tiny)["aesthetic_score"]) == 7
    score(tiny, "--head", "nsfw")
    (tiny / "scores/scores_0.parquet").write_bytes(b"not a table")
    r = score(tiny, "--head", "aesthetic", check=4)
    assert "columns of other heads would be lost" in r.stderr and "scores_0.parquet" in r.stderr


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rows_without_a_direction_are_null(tmp_path, dtype):
    x = rows(9, dtype=dtype)
    x[2], x[4, 5], x[6, 0] = 0, np.nan, np.inf
    place = retrieval(tmp_path / "place", x)
    w, b = linear_head(tmp_path / "h.safetensors")
    r = score(place, "--head", f"h={tmp_path / 'h.safetensors'}", "--head", f"n={head_file('nsfw')}", "--json")
    assert "h_score: 3 rows without a score" in r.stderr
    for name in ("h_score", "n_score"):
        got = columns(place)[name]
        assert [i for i, v in enumerate(got) if v is None] == [2, 4, 6]
    good = [0, 1, 3, 5, 7, 8]
    assert np.allclose(np.array(columns(place)["h_score"], object)[good].astype(float), exact(x[good], w, b), atol=1e-6)
    done = json.loads(r.stdout.splitlines()[-1])
    assert done["event"] == "done" and done["rows"] == 9
    assert [(c["name"], c["scored"], c["null"]) for c in done["columns"]] == [("h_score", 6, 3), ("n_score", 6, 3)]


def test_lengths_do_not_matter(tmp_path):
    x = rows(20)
    head = f"h={head_file('nsfw')}"
    for name, scale in (("a", 1), ("b", 64), ("c", 2.0 ** -10)):
        score(retrieval(tmp_path / name, x * np.float32(scale)), "--head", head)
    assert columns(tmp_path / "a") == columns(tmp_path / "b") == columns(tmp_path / "c")
    score(retrieval(tmp_path / "half", (7 * x).astype(np.float16)), "--head", head)
    assert np.allclose(columns(tmp_path / "half")["h_score"], columns(tmp_path / "a")["h_score"], atol=1e-3)


def test_a_batch_of_one(tmp_path):
    x = rows(3)
    w, b = linear_head(tmp_path / "h.safetensors")
    place = retrieval(tmp_path / "place", x[:1], x[1:], np.zeros((0, 24), np.float16))
    score(place, "--head", f"h={tmp_path / 'h.safetensors'}", "--batch-size", "1")
    got = columns(place, 0)["h_score"] + columns(place, 1)["h_score"]
    assert len(columns(place, 0)["h_score"]) == 1 and np.allclose(got, exact(x, w, b), atol=1e-6)
    assert columns(place, 2) == {"h_score": []}


def test_numbers_and_digits_of_a_foreign_folder(tmp_path):
    place = retrieval(tmp_path / "laion", rows(4), rows(6, seed=2), digits=4, numbers=[3, 17])
    linear_head(tmp_path / "h.safetensors")
    score(place, "--head", f"h={tmp_path / 'h.safetensors'}")
    assert sorted(p.name for p in (place / "scores").iterdir()) == ["scores_0003.parquet", "scores_0017.parquet"]
    assert len(columns(place, "0017")["h_score"]) == 6
    assert "nothing to do" in score(place, "--head", f"h={tmp_path / 'h.safetensors'}").stderr
    np.save(place / "img_emb/img_emb_0017.npy", rows(6, seed=9))  # what it was made from has changed
    assert "will be redone" in score(place, "--head", f"h={tmp_path / 'h.safetensors'}").stderr


def test_output_of_nemo_curator(tmp_path):
    place = tmp_path / "nemo"
    place.mkdir()
    w, b = linear_head(tmp_path / "h.safetensors")
    x = rows(8)
    for p in range(2):
        lists = [None if (p, i) == (1, 2) else list(map(float, x[4 * p + i])) for i in range(4)]
        pq.write_table(pa.table({"key": [f"{p:05d}{i:04d}" for i in range(4)],
                                 "image_embedding": pa.array(lists, pa.list_(pa.float32()))}), place / f"{p:05d}.parquet")
        write_tar(place / f"{p:05d}.tar", [sample(i) for i in range(4)])
    score(place, "--head", f"h={tmp_path / 'h.safetensors'}")
    got = columns(place, "00000")["h_score"] + columns(place, "00001")["h_score"]
    assert got[6] is None
    keep = [0, 1, 2, 3, 4, 5, 7]
    assert np.allclose([got[i] for i in keep], exact(x[keep], w, b), atol=1e-6)


def test_partitions_that_are_not_embedded_yet(embedded, tmp_path):
    place = tmp_path / "place"
    darkroom("embed", embedded / "shards", place, "--model", "tiny", "--task", "0/2", check=0)
    r = score(place, "--head", "aesthetic", check=3)
    assert "not embedded yet" in r.stderr
    assert not (place / "scores/scores_1.parquet").exists()
    darkroom("embed", embedded / "shards", place, "--model", "tiny", check=0)
    score(place, "--head", "aesthetic")
    assert len(columns(place, 1)["aesthetic_score"]) == 5


# ---- prompts ----

def logit_scale(model=ROOT / "models/tiny"):
    return math.exp(float(read_safetensors(model / "open_clip_model.safetensors")["logit_scale"]))


def text_embeddings(tmp_path, texts):
    """As embed makes them of captions."""
    d = tmp_path / "texts"
    d.mkdir()
    write_tar(d / "0.tar", [sample(i, txt=t.encode()) for i, t in enumerate(texts)])
    darkroom("embed", d, tmp_path / "text_place", "--model", "tiny", "--dtype", "f32", check=0)
    return np.load(tmp_path / "text_place/text_emb/text_emb_0.npy").astype(np.float64)


def test_prompts_are_probabilities(tiny, tmp_path):
    texts = ["a red circle", "a blue square", "a dark green triangle on white"]
    score(tiny, "--model", "tiny", "--prompts", "two: a red circle | a blue square", "--prompts", "three:" + "|".join(texts))
    t = text_embeddings(tmp_path, texts)
    for p in range(3):
        x = np.load(tiny / f"img_emb/img_emb_{p}.npy").astype(np.float64)
        z = np.exp(logit_scale() * (x / np.linalg.norm(x, axis=1, keepdims=True)) @ t.T)
        got = columns(tiny, p)
        assert np.allclose(got["two_score"], z[:, 0] / z[:, :2].sum(1), atol=2e-5)
        assert np.allclose(got["three_score"], z[:, 0] / z.sum(1), atol=2e-5)
    flat = score(tiny, "--model", "tiny", "--prompts", "two: a red circle | a blue square", "--logit-scale", "1e-6")
    assert "two_score was made by another head" in flat.stderr
    assert np.allclose(columns(tiny)["two_score"], 0.5, atol=1e-5)


def test_prompts_want_the_model_of_the_embeddings(tiny, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "models/tiny", other)
    raw = bytearray((other / "open_clip_model.safetensors").read_bytes())
    raw[-2] ^= 1  # one bit of one weight
    (other / "open_clip_model.safetensors").write_bytes(raw)
    prompts = ["--prompts", "p: a | b"]
    r = score(tiny, *prompts, "--model", other, check=7)
    assert "is not the one that made the embeddings" in r.stderr and "other" in r.stderr
    r = score(tiny, *prompts, "--model", ROOT / "tests/golden/clip/open_clip", check=2)
    assert "width" in r.stderr and "img_emb_0.npy has width 96" in r.stderr
    assert "--prompts needs --model" in score(tiny, *prompts, check=2).stderr
    assert not (tiny / "scores").exists()


def test_prompts_at_another_image_size(embedded, tmp_path):
    darkroom("embed", embedded / "shards", tmp_path / "place", "--model", "tiny", "--image-size", "32", check=0)
    prompts = ["--prompts", "p: a | b", "--model", "tiny"]
    assert "--image-size" in score(tmp_path / "place", *prompts, check=7).stderr
    score(tmp_path / "place", *prompts, "--image-size", "32")


@pytest.mark.parametrize("word, why", [("no colon", "no colon"), ("a: one", "nothing to choose"), ("a: one || two", "empty"),
                                       ("a: one |", "empty"), (": one | two", "cannot be the name"),
                                       ("a b: one | two", "cannot be the name")])
def test_bad_prompts(tiny, word, why):
    assert why in score(tiny, "--prompts", word, "--model", "tiny", check=2).stderr


# ---- what is refused ----

def test_head_for_another_width(tiny, tmp_path):
    linear_head(tmp_path / "h.safetensors", 24)
    r = score(tiny, "--head", f"h={tmp_path / 'h.safetensors'}", check=2)
    assert "h.safetensors takes embeddings of width 24" in r.stderr and "img_emb/img_emb_0.npy has width 96" in r.stderr
    assert not (tiny / "scores").exists() and not (tiny / "_darkroom/score").exists()


def test_bad_heads(tiny, tmp_path):
    linear_head(tmp_path / "h.safetensors", 96)
    nan = read_safetensors(tmp_path / "h.safetensors")
    write_safetensors(tmp_path / "nan.safetensors", {"weight": nan["weight"] * np.nan, "bias": nan["bias"]})
    (tmp_path / "cut.pth").write_bytes((ROOT / "models/tiny/nsfw.pth").read_bytes()[:5000])
    write_safetensors(tmp_path / "strange.safetensors", {"a.weight": np.ones((4, 96)), "b.weight": np.ones((1, 4))})
    for word, code, why in ((f"h={tmp_path / 'nan.safetensors'}", 4, "not finite"), (f"h={tmp_path / 'none.pth'}", 4, "no such file"),
                            (f"h={tmp_path / 'cut.pth'}", 4, "cut.pth"), (f"h={tmp_path / 'strange.safetensors'}", 4, "docs/heads.md"),
                            ("unheard", 4, "searched"), (f"{tmp_path / 'h.safetensors'}", 2, "give the column a name"),
                            (f"h h={tmp_path / 'h.safetensors'}", 2, "cannot be the name"), (f"={tmp_path / 'h.safetensors'}", 2, "name")):
        r = score(tiny, "--head", word, check=code)
        assert why in r.stderr and len(r.stderr.splitlines()) == 1
    twice = score(tiny, "--head", f"h={tmp_path / 'h.safetensors'}", "--head", f"h={tmp_path / 'h.safetensors'}", check=2)
    assert "h_score" in twice.stderr
    assert "nothing to score with" in score(tiny, check=2).stderr
    assert "score takes one PLACE" in darkroom("score", "--head", "aesthetic", check=2).stderr


def test_bad_embeddings(tmp_path):
    linear_head(tmp_path / "h.safetensors")
    head = ["--head", f"h={tmp_path / 'h.safetensors'}"]
    r = score(retrieval(tmp_path / "mixed", rows(3), rows(3, width=25)), *head, "--threads", "1", check=4)
    assert "img_emb_1.npy has width 25" in r.stderr and "img_emb_0.npy 24" in r.stderr
    r = score(retrieval(tmp_path / "ints", np.ones((3, 24), np.int32)), *head, check=4)
    assert "<i4" in r.stderr
    place = retrieval(tmp_path / "cut", rows(3))
    (place / "img_emb/img_emb_0.npy").write_bytes((place / "img_emb/img_emb_0.npy").read_bytes()[:-4])
    assert "img_emb_0.npy" in score(place, *head, check=4).stderr
    (tmp_path / "empty").mkdir()
    assert "holds no embeddings" in score(tmp_path / "empty", *head, check=4).stderr
    assert "no such folder" in score(tmp_path / "none", *head, check=4).stderr


def test_heads_are_found_by_name(tmp_path):
    place = retrieval(tmp_path / "place", rows(4, width=768))
    linear_head(tmp_path / "sac+logos+ava1-l14-linearMSE.pth", 768)
    r = score(place, "--head", "aesthetic", env=QUIET_HOME, check=4)
    assert "published as sac+logos+ava1-l14-linearMSE.pth" in r.stderr
    r = score(place, "--head", "aesthetic", "--model-dir", tmp_path, env=QUIET_HOME)
    assert "sac+logos+ava1-l14-linearMSE.pth" in r.stderr and len(columns(place)["aesthetic_score"]) == 4
    (tmp_path / "home/models").mkdir(parents=True)
    linear_head(tmp_path / "home/models/style.safetensors", 768)
    score(place, "--head", "style", "--head", "again=style", env={**QUIET_HOME, "DARKROOM_HOME": str(tmp_path / "home")})
    assert columns(place)["style_score"] == columns(place)["again_score"]


def test_the_built_in_heads_are_for_the_built_in_model_only(embedded, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "models/tiny", other)
    raw = bytearray((other / "open_clip_model.safetensors").read_bytes())
    raw[-2] ^= 1
    (other / "open_clip_model.safetensors").write_bytes(raw)
    darkroom("embed", embedded / "shards", tmp_path / "place", "--model", other, check=0)
    assert "searched" in score(tmp_path / "place", "--head", "aesthetic", env=QUIET_HOME, check=4).stderr
    score(tmp_path / "place", "--head", "aesthetic", "--model-dir", other)  # unless they are pointed to


def test_help():
    r = darkroom("score", "--help", check=0)
    assert "--prompts" in r.stdout and "docs/heads.md" in r.stdout
