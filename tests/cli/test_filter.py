"""darkroom filter: rules over a place of darkroom's, clip-retrieval's and NeMo's making."""
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import darkroom, picture, sample, tree, write_tar


def keep(place, digits=None):
    """All rows of keep/, in order: (keep, reason)."""
    out = []
    for f in sorted(Path(place, "keep").glob("*.parquet"), key=lambda p: int(p.stem.rsplit("_", 1)[1])):
        t = pq.read_table(f)
        assert t.schema.equals(pa.schema([pa.field("keep", pa.bool_(), False), pa.field("reason", pa.string(), False)]))
        out += list(zip(t["keep"].to_pylist(), t["reason"].to_pylist()))
    return out


def metadata(place):
    rows = []
    for f in sorted(Path(place, "metadata").glob("*.parquet")):
        rows += pq.read_table(f).to_pylist()
    return rows


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """Three shards embedded with both towers and metadata."""
    d = tmp_path_factory.mktemp("filter")
    (d / "shards").mkdir()
    at = 0
    for s, n in enumerate((7, 5, 6)):
        write_tar(d / "shards" / f"{s:05d}.tar", [sample(at + i) for i in range(n)])
        at += n
    darkroom("embed", d / "shards", d / "place", "--model", "tiny", "--metadata", check=0)
    return d / "place"


@pytest.fixture
def place(embedded, tmp_path):
    return Path(shutil.copytree(embedded, tmp_path / "place"))


def retrieval(path, parts, emb=True):
    """A folder as clip-retrieval leaves it; parts: list of column dicts."""
    for name in ("img_emb", "metadata"):
        (path / name).mkdir(parents=True, exist_ok=True)
    for i, cols in enumerate(parts):
        t = pa.table(cols)
        pq.write_table(t, path / "metadata" / f"metadata_{i}.parquet")
        if emb:
            np.save(path / "img_emb" / f"img_emb_{i}.npy", np.ones((t.num_rows, 4), np.float16))
    return path


def test_rules_and_reasons(place):
    r = darkroom("filter", place, "--where", "n >= 4 and height > 70", "--where", "not contains(caption, '12')", check=0)
    want = []
    for m in metadata(place):
        want.append((False, "n >= 4") if m["n"] < 4 else (False, "height > 70") if m["height"] <= 70 else
                    (False, "not contains(caption, '12')") if "12" in m["caption"] else (True, ""))
    assert keep(place) == want
    assert len({w for w in want}) == 4  # every rule dropped something
    lines = r.stdout.split("\n")
    assert lines[0].split() == ["18", "rows"]
    assert lines[1].split(None, 1) == ["-4", "n >= 4"]
    assert lines[2].split(None, 1) == [str(-sum(w[1] == "height > 70" for w in want)), "height > 70"]
    assert lines[4].split()[:2] == [str(sum(w[0] for w in want)), "kept"]
    assert "filter: 18 rows in 3 partitions written" in r.stderr
    darkroom("verify", place, check=0)


def test_derived_columns(place):
    darkroom("filter", place, "--where", "aspect <= 1.3 and resolution >= 70", check=0)
    want = [max(m["width"], m["height"]) / min(m["width"], m["height"]) <= 1.3 and min(m["width"], m["height"]) >= 70
            for m in metadata(place)]
    assert [k for k, _ in keep(place)] == want and 0 < sum(want) < len(want)


def test_clip_similarity(place):
    image = np.concatenate([np.load(f).astype(np.float64) for f in sorted((place / "img_emb").glob("*"))])
    text = np.concatenate([np.load(f).astype(np.float64) for f in sorted((place / "text_emb").glob("*"))])
    cos = (image * text).sum(1) / np.linalg.norm(image, axis=1) / np.linalg.norm(text, axis=1)
    for i in (3, 9):
        t = np.sort(cos)[i] + 1e-5
        darkroom("filter", place, "--where", f"clip_similarity >= {t:.9f}", check=0)
        assert [k for k, _ in keep(place)] == list(cos >= t)
        assert sum(cos < t) == i + 1


def test_clip_similarity_needs_both_towers(tmp_path):
    p = retrieval(tmp_path / "p", [{"caption": ["a"]}])
    r = darkroom("filter", p, "--where", "clip_similarity > 0.3", check=2)
    assert "text_emb" in r.stderr and "^^^" in r.stderr
    (p / "text_emb").mkdir()
    np.save(p / "text_emb" / "text_emb_0.npy", np.ones((1, 8), np.float16))
    r = darkroom("filter", p, "--where", "clip_similarity > 0.3", check=4)
    assert "img_emb/img_emb_0.npy has width 4, but text_emb/text_emb_0.npy 8" in r.stderr


def test_similarity_of_nothing_is_null(tmp_path):
    p = retrieval(tmp_path / "p", [{"caption": ["a", "b", "c"]}])
    (p / "text_emb").mkdir()
    rows = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [np.nan, 0, 0, 0]], np.float32)
    np.save(p / "text_emb" / "text_emb_0.npy", rows)
    darkroom("filter", p, "--where", "clip_similarity >= 1", check=0)
    assert keep(p) == [(True, ""), (False, "clip_similarity >= 1: null"), (False, "clip_similarity >= 1: null")]


def test_null_and_nan(tmp_path):
    p = retrieval(tmp_path / "p", [{"x": pa.array([1.0, None, float("nan"), 5.0]), "s": pa.array(["a", "b", None, "d"])},
                                   {"s": pa.array(["e"])}])  # the second partition has no x
    darkroom("filter", p, "--where", "x > 2 & s != 'b'", check=0)
    assert keep(p) == [(False, "x > 2"), (False, "x > 2: null"), (False, "x > 2: null"), (True, ""), (False, "x > 2: null")]
    r = darkroom("filter", p, "--where", "x is null or x > 2", check=0)
    assert [k for k, _ in keep(p)] == [False, True, True, True, True]
    assert "replaced" in r.stderr
    darkroom("filter", p, "--where", "not (x > 2)", check=0)  # a comparison with null is false
    assert [k for k, _ in keep(p)] == [True, True, True, False, True]


def test_float32_scores_are_compared_as_stored(tmp_path):
    p = retrieval(tmp_path / "p", [{"nsfw_score": pa.array([0.1, 0.2, 0.3], pa.float32())}])
    darkroom("filter", p, "--where", "nsfw_score <= 0.2", check=0)
    assert [k for k, _ in keep(p)] == [True, True, False]


def test_whole_numbers_are_exact(tmp_path):
    big = 2**53 + 1
    p = retrieval(tmp_path / "p", [{"id": pa.array([big - 1, big, big + 1])}])
    darkroom("filter", p, "--where", f"id == {big}", check=0)
    assert [k for k, _ in keep(p)] == [False, True, False]


def test_types_widen_over_partitions(tmp_path):
    p = retrieval(tmp_path / "p", [{"v": pa.array([1, 2])}, {"v": pa.array([1.5, 2.5])}])
    darkroom("filter", p, "--where", "v >= 1.5", check=0)
    assert [k for k, _ in keep(p)] == [False, True, True, True]
    p = retrieval(tmp_path / "q", [{"v": pa.array([1, 2])}, {"v": pa.array(["x"])}])
    r = darkroom("filter", p, "--where", "v >= 1.5", check=2)
    assert "text is compared with a number" in r.stderr
    darkroom("filter", p, "--where", "v in ['2', 'x']", check=0)
    assert [k for k, _ in keep(p)] == [False, True, True]


def test_nemo_output(tmp_path):
    p = tmp_path / "nemo"
    p.mkdir()
    for i, scores in enumerate(([0.5, 0.51], [0.49, 0.5])):
        pq.write_table(pa.table({"id": pa.array([f"{i}{k}" for k in range(2)]), "aesthetic_score": pa.array(scores, pa.float32()),
                                 "image_embedding": pa.array([[1.0, 0.0]] * 2, pa.list_(pa.float32()))}), p / f"{i:05d}.parquet")
    r = darkroom("filter", p, "--where", "aesthetic_score >= 0.5", check=0)  # NeMo's golden: 3 kept
    assert [k for k, _ in keep(p)] == [True, True, False, True]
    assert sorted(f.name for f in (p / "keep").iterdir()) == ["keep_00000.parquet", "keep_00001.parquet"]
    r = darkroom("filter", p, "--where", "image_embedding > 1", check=2)
    assert "no column 'image_embedding'" in r.stderr


def test_a_score_that_some_partitions_lack(place):
    darkroom("score", place, "--head", "aesthetic", check=0)
    darkroom("score", place, "--head", "nsfw", "--task", "0/3", check=0)
    r = darkroom("filter", place, "--where", "nsfw_score >= 0 and n >= 0", check=0)
    assert "partition 1 (and 1 more) has no nsfw_score" in r.stderr and "score with that head" in r.stderr
    assert "has no" not in darkroom("filter", place, "--where", "aesthetic_score >= 0", check=0).stderr


def test_dry_run_writes_nothing(place):
    before = tree(place, but=())
    r = darkroom("filter", place, "--where", "n >= 4 and n >= 10 and missing_too is null or true", "--dry-run", check=2)
    r = darkroom("filter", place, "--where", "n >= 10 and n >= 12", "--dry-run", check=0)
    assert tree(place, but=()) == before
    assert r.stdout.split("\n") == [" 18  rows", "-10  n >= 10", " -2  n >= 12  (12 fail it, earlier rules aside)",
                                    "  6  kept, nothing was written (33.3 %)", ""]
    r = darkroom("filter", place, "--where", "n >= 10 and n >= 12", "--dry-run", "--json", check=0)
    (event,) = map(json.loads, r.stdout.splitlines())
    assert event == {"event": "dry-run", "product": "filter", "judged": 18, "kept": 6, "dropped": 12, "rules": [
        {"rule": "n >= 10", "dropped": 10, "null": 0, "fails": 10}, {"rule": "n >= 12", "dropped": 2, "null": 0, "fails": 12}]}
    tasks = [darkroom("filter", place, "--where", "n >= 10", "-n", "--json", "--task", f"{i}/2", check=0) for i in range(2)]
    assert sum(json.loads(t.stdout)["kept"] for t in tasks) == 8


def test_json_event(place):
    r = darkroom("filter", place, "--where", "n >= 4 and score > 100", "--json", check=0)
    event = [json.loads(l) for l in r.stdout.splitlines()][-1]
    assert event["event"] == "done" and event["product"] == "filter" and event["rows"] == 18
    assert (event["judged"], event["kept"], event["dropped"]) == (18, 0, 18)
    assert event["rules"] == [{"rule": "n >= 4", "dropped": 4, "null": 0}, {"rule": "score > 100", "dropped": 14, "null": 0}]


def test_nothing_kept_is_no_error(place):
    r = darkroom("filter", place, "--where", "n > 1000", check=0)
    assert "nothing is kept" in r.stderr
    assert [k for k, _ in keep(place)] == [False] * 18


def test_again_does_nothing_and_counts_all(place):
    args = ("filter", place, "--where", "n >= 4", "--where", "height > 70")
    first = darkroom(*args, check=0)
    before = tree(place)
    again = darkroom(*args, check=0)
    assert tree(place) == before
    assert "nothing to do" in again.stderr and again.stdout == first.stdout


def test_what_is_missing_is_redone(place):
    args = ("filter", place, "--where", "n >= 4 and height > 70")
    first = darkroom(*args, check=0)
    before = tree(place)
    (place / "_darkroom/filter/1.json").unlink()
    (place / "keep/keep_2.parquet").write_bytes(b"cut")
    r = darkroom(*args, check=0)
    assert tree(place) == before and r.stdout == first.stdout
    assert "2 partitions written, 1 were done before" in r.stderr


def test_a_damaged_result_is_redone(place):
    args = ("filter", place, "--where", "n >= 4")
    darkroom(*args, check=0)
    before = tree(place)
    f = place / "keep/keep_1.parquet"
    f.write_bytes(bytes(len(before["keep/keep_1.parquet"])))  # the size its receipt promises
    r = darkroom(*args, check=0)
    assert "partition 1 will be redone" in r.stderr and tree(place) == before


def test_other_rules_replace(place):
    darkroom("filter", place, "--where", "n >= 4", check=0)
    r = darkroom("filter", place, "--where", "n >= 5", check=0)
    assert "the old results are replaced" in r.stderr
    assert sum(k for k, _ in keep(place)) == 13
    fresh = tree(place)
    shutil.rmtree(place / "keep")
    shutil.rmtree(place / "_darkroom/filter")
    darkroom("filter", place, "--where", "n >= 5", check=0)
    assert tree(place) == fresh  # nothing of the old run stays in the bytes


def test_new_scores_are_noticed(place):
    darkroom("score", place, "--head", "aesthetic", check=0)
    darkroom("filter", place, "--where", "aesthetic_score >= 0 and nsfw_score is null", check=2)
    args = ("filter", place, "--where", "aesthetic_score >= 5")
    darkroom(*args, check=0)
    scores = np.concatenate([pq.read_table(f)["aesthetic_score"].to_numpy() for f in sorted((place / "scores").glob("*"))])
    assert [k for k, _ in keep(place)] == list(scores >= 5)
    darkroom("score", place, "--head", "nsfw", check=0)
    r = darkroom(*args, check=0)  # the files it read are other files now
    assert "3 partitions written" in r.stderr


def test_tasks_and_threads_give_the_same_bytes(place, tmp_path):
    args = ("--where", "n >= 4 and height > 70")
    darkroom("filter", place, *args, "--threads", 1, check=0)
    whole = tree(place)
    other = tmp_path / "other"
    shutil.copytree(place, other)
    shutil.rmtree(other / "keep")
    shutil.rmtree(other / "_darkroom/filter")
    for i in (2, 0, 1):
        darkroom("filter", other, *args, "--task", f"{i}/3", "--threads", 3, check=0)
    assert tree(other) == whole


def test_partitions_without_rows_and_unembedded_ones(tmp_path):
    (tmp_path / "shards").mkdir()
    write_tar(tmp_path / "shards/0.tar", [sample(1), sample(2)])
    write_tar(tmp_path / "shards/1.tar", [("bad", {"jpg": b"no picture", "txt": b"x"})])
    p = tmp_path / "place"
    darkroom("embed", tmp_path / "shards", p, "--model", "tiny", "--metadata", check=3)
    darkroom("filter", p, "--where", "n >= 2", check=0)
    assert keep(p) == [(False, "n >= 2"), (True, "")]
    (p / "_darkroom/embed/1.json").unlink()
    r = darkroom("filter", p, "--where", "n >= 3", check=3)
    assert "not embedded yet" in r.stderr and [k for k, _ in keep(p)] == [False, False]
    r = darkroom("filter", p, "--where", "n >= 3", "-n", check=3)


@pytest.mark.parametrize("where,column,words", [
    ("heigt > 3", 1, ["no column 'heigt'", "did you mean 'height'?", "metadata: image_path, caption"]),
    ("n > 3 and captoin == 'x'", 11, ["did you mean 'caption'?"]),
    ("n > 'x'", 5, ["a number is compared with text"]),
    ("n >", 4, ["a value is missing at the end"]),
    ("matches(caption, '(a')", 18, ["without its ')'"]),
    ("keep", 1, ["no column 'keep'"]),
])
def test_errors_point(place, where, column, words):
    darkroom("filter", place, "--where", "n > 1", check=0)  # keep/ is there, and yet no column
    before = tree(place)
    r = darkroom("filter", place, "--where", where, check=2)
    lines = r.stderr.split("\n")
    assert lines[0].startswith(f"darkroom: --where: character {column}: ")
    assert lines[1] == f"darkroom:     {where}"
    assert lines[2].index("^") == len("darkroom:     ") + column - 1
    for w in words:
        assert w in r.stderr
    assert tree(place) == before


def test_a_place_without_metadata_says_so(tmp_path):
    p = tmp_path / "p"
    (p / "img_emb").mkdir(parents=True)
    np.save(p / "img_emb" / "img_emb_0.npy", np.ones((2, 4), np.float16))
    r = darkroom("filter", p, "--where", "width > 3", check=2)
    assert "embed --metadata" in r.stderr
    darkroom("filter", p, "--where", "1 < 2", check=0)
    assert keep(p) == [(True, ""), (True, "")]


def test_usage(place, tmp_path):
    assert "--where" in darkroom("filter", place, check=2).stderr
    darkroom("filter", "--where", "n > 1", check=2)
    darkroom("filter", place, place, "--where", "n > 1", check=2)
    darkroom("filter", tmp_path / "nowhere", "--where", "n > 1", check=4)
    (tmp_path / "empty").mkdir()
    darkroom("filter", tmp_path / "empty", "--where", "n > 1", check=4)
    darkroom("filter", place, "--where", "n > 1", "--task", "2/2", check=2)
    darkroom("filter", place, "--where", "n > 1", "--task", "2/2", "-n", check=2)
    darkroom("filter", place, "--where", "n > 1", "--threads", "-1", check=2)
    assert "empty" in darkroom("filter", place, "--where", "", check=2).stderr
    assert "KiB" in darkroom("filter", place, *["--where", "n > 1 or " * 10000 + "n > 1"] * 7, check=2).stderr
    assert not (place / "keep").exists()


def test_different_lengths_name_both_files(tmp_path):
    p = retrieval(tmp_path / "p", [{"n": [1, 2, 3]}, {"n": [4, 5]}])
    np.save(p / "img_emb" / "img_emb_1.npy", np.ones((9, 4), np.float16))
    for more in ((), ("-n",)):
        r = darkroom("filter", p, "--where", "n > 1", *more, check=4)
        assert "metadata/metadata_1.parquet has 2 rows, but img_emb/img_emb_1.npy 9" in r.stderr


def test_damaged_metadata(tmp_path):
    p = retrieval(tmp_path / "p", [{"n": [1, 2, 3]}, {"n": [4, 5]}])
    f = p / "metadata/metadata_1.parquet"
    f.write_bytes(f.read_bytes()[:-20])
    r = darkroom("filter", p, "--where", "n > 1", check=4)
    assert "metadata_1.parquet" in r.stderr


def test_config_file(place, tmp_path):
    c = tmp_path / "f.yaml"
    c.write_text('where:\n  - "n >= 4"\n  - |\n    height > 70\n    and width > 0\n')
    darkroom("filter", place, "--config", c, check=0)
    assert {r for _, r in keep(place)} == {"", "n >= 4", "height > 70"}


def test_names_that_need_backticks(tmp_path):
    p = retrieval(tmp_path / "p", [{"odd name-1": [1, 5], "aspect": ["wide", "tall"], "width": [100, 300], "height": [100, 100], "in": [1, 2]}])
    darkroom("filter", p, "--where", "`odd name-1` > 2", check=0)
    assert [k for k, _ in keep(p)] == [False, True]
    darkroom("filter", p, "--where", "aspect > 2 and `aspect` == 'tall' and `in` == 2", check=0)
    assert [k for k, _ in keep(p)] == [False, True]


def test_hostile_texts_stay_one_line(tmp_path):
    p = retrieval(tmp_path / "p", [{"s": ["a\x1b[31m\nb"]}])
    rule = "s == '\x1b[2J\n\\n'"
    r = darkroom("filter", p, "--where", rule, check=0)
    assert "\x1b" not in r.stdout + r.stderr and r.stdout.count("\n") == 3
    assert keep(p) == [(False, rule)]
    r = darkroom("filter", p, "--where", "`\x1b[2J\n    x` > 1", check=2)
    assert "\x1b" not in r.stderr


def test_help():
    r = darkroom("filter", "--help", check=0)
    assert "--where" in r.stdout and "--dry-run" in r.stdout and "clip_similarity" in r.stdout
