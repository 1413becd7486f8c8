"""explain: one sample's story, told rightly for every way it can end."""
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import darkroom, picture, sample, write_tar
from places import Place


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Twelve rows in two partitions; every ending once at least."""
    n = 12
    keys = [f"k{i}" for i in range(n)]
    keys[11] = "k3"  # a key that is there twice
    captions = [f"caption {i}" for i in range(n)]
    captions[2] = "\x1b[31mred\x07\u202e <b> a\0b"
    p = Place(tmp_path_factory.mktemp("explain") / "place", [6, 6],
              errors={0: [("broken", "00000.tar", "truncated", "the JPEG data ends too early")], 1: [("k3", "00001.tar", "corrupt", "damaged")]})
    p.embedded({"image_path": pa.array(keys), "caption": pa.array(captions), "shard": pa.array(["00000.tar"] * 6 + ["00001.tar"] * 6),
                "key": pa.array(keys), "width": pa.array(range(100, 100 + n)), "height": pa.array([80] * n), "url": pa.array([f"http://u/{i}" for i in range(n)]),
                "n": pa.array([i if i % 2 else None for i in range(n)])})
    score = np.arange(n, dtype=np.float32) / 3
    p.scored(a_score=score)
    reason = ["a_score >= 1" if s < 1 else "width <= 110" if i == 11 else "" for i, s in enumerate(score)]
    p.filtered([not r for r in reason], reason, "a_score >= 1 and width <= 110")
    max_id, sim = list(keys), np.zeros(n)
    max_id[5], sim[5] = "k4", 0.97
    max_id[6], sim[6] = "k5", 0.96  # a chain: k6 -> k5 -> k4
    max_id[7], sim[7] = "k6", 0.5
    removed = sim >= 0.95
    quarantined = np.arange(n) == 9
    p.deduped(keys, [1] * 8 + [2] * 4, max_id, sim, removed, 0.05, quarantined)
    return p.path


def explain(place, key, check=0):
    r = darkroom("explain", place, key, "--json", check=check)
    return [json.loads(line) for line in r.stdout.splitlines()]


def one(place, key):
    found = explain(place, key)
    assert len(found) == 1
    return found[0]


def test_where_it_came_from(place):
    s = one(place, "k4")
    assert (s["shard"], s["key"], s["partition"], s["row"], s["width"], s["height"], s["caption"]) == ("00000.tar", "k4", 0, 4, 104, 80, "caption 4")
    assert s["metadata"] == {"url": "http://u/4"}  # null fields are not there
    assert s["scores"] == {"a_score": pytest.approx(4 / 3)}
    assert s["outcome"] == "kept" and s["why"] == "kept: it passed the filter and is no duplicate of a kept one"


def test_dropped(place):
    s = one(place, "k1")
    assert s["outcome"] == "dropped" and s["why"] == "dropped by the filter: a_score >= 1"
    assert s["filter"] == {"keep": False, "reason": "a_score >= 1"}
    assert s["rules"]["a_score >= 1"] == {"verdict": "fail", "values": {"a_score": pytest.approx(1 / 3)}} and s["rules"]["width <= 110"]["verdict"] == "pass"


def test_removed_names_the_kept_one(place):
    s = one(place, "k5")
    assert s["outcome"] == "removed" and s["dedup"]["max_id"] == "k4" and s["dedup"]["kept_instead"] == "k4"
    s = one(place, "k6")
    assert "removed as a duplicate of k5 (0:5 of 00000.tar), similarity 0.96" in s["why"] and s["dedup"]["kept_instead"] == "k4"
    assert s["dedup"]["cluster_rows"] == 8 and s["dedup"]["nearest_cent"] == 1


def test_a_duplicate_of_its_own_name(tmp_path):
    """Shards that repeat keys: the row tells which one is meant."""
    p = Place(tmp_path / "place", [2, 2])
    keys = ["a", "b", "a", "c"]
    p.embedded({"key": pa.array(keys), "shard": pa.array(["0.tar"] * 2 + ["1.tar"] * 2), "width": pa.array([640] * 4), "height": pa.array([180] * 4)})
    p.filtered([True] * 4, [""] * 4, "aspect <= 4 and resolution >= 100")
    p.deduped(keys, [0] * 4, keys, [0, 0, 1, 0], np.array([False, False, True, False]), 0.05)
    s = one(p.path, "1:0")
    assert s["outcome"] == "removed" and "a duplicate of a (0:0 of 0.tar)" in s["why"]
    assert s["dedup"]["kept_instead"] == "a" and s["dedup"]["kept_row"] == "0:0 of 0.tar"
    assert s["rules"]["aspect <= 4"]["values"]["aspect"] == pytest.approx(640 / 180)
    assert s["rules"]["resolution >= 100"]["values"]["resolution"] == 180


def test_nearest_of_a_kept_one(place):
    s = one(place, "k7")
    assert s["outcome"] == "kept" and s["dedup"]["max_id"] == "k6" and s["dedup"]["cosine_sim_score"] == 0.5


def test_quarantined(place):
    assert one(place, "k9")["outcome"] == "quarantined"


def test_error_row(place):
    s = one(place, "broken")
    assert s["outcome"] == "error" and s["status"] == "truncated" and s["shard"] == "00000.tar" and s["partition"] == 0
    assert s["why"] == "it has no row: truncated, the JPEG data ends too early"


def test_every_sample_of_that_name(place):
    found = explain(place, "k3")
    assert [(s["outcome"], s["partition"]) for s in found] == [("kept", 0), ("dropped", 1), ("error", 1)]
    assert found[1]["rules"]["width <= 110"] == {"verdict": "fail", "values": {"width": 111}} and found[1]["rules"]["a_score >= 1"]["verdict"] == "pass"


def test_by_row_and_by_url(place):
    assert one(place, "1:2")["key"] == "k8" and one(place, "http://u/8")["key"] == "k8"


def test_unknown_key(place):
    r = darkroom("explain", place, "k33", check=4)
    assert "has no sample 'k33'; near it: k3" in r.stderr and not r.stdout
    assert darkroom("explain", place, "1:6", check=4) and darkroom("explain", place, "9:0", check=4)
    darkroom("explain", place, "zzz\x1b[0m", check=4)
    assert "PLACE and KEY" in darkroom("explain", place, check=2).stderr


def test_lines_are_harmless(place):
    r = darkroom("explain", place, "k2", check=0)
    assert "\x1b" not in r.stdout and "\u202e" not in r.stdout and "\0" not in r.stdout and "\x07" not in r.stdout
    lines = r.stdout.splitlines()
    assert lines[0] == "k2" and "  caption     \u241b[31mred\u2407\ufffd <b> a\u2400b" in lines
    assert lines[-1] == "  outcome     dropped by the filter: a_score >= 1"
    assert one(place, "k2")["caption"] == "\x1b[31mred\x07\u202e <b> a\0b"


def test_after_embed_alone(shards, tmp_path):
    darkroom("embed", shards, tmp_path / "p", "--model", "tiny", "--metadata", check=0)
    s = one(tmp_path / "p", "000000008")
    assert s["outcome"] == "kept" and "nothing was filtered or deduplicated yet" in s["why"]
    assert s["shard"] == "00001.tar" and s["partition"] == 1 and s["row"] == 1 and s["metadata"]["n"] == 8


def test_bad_samples_of_embed(tmp_path):
    d = tmp_path / "shards"
    d.mkdir()
    write_tar(d / "0.tar", [sample(0), ("x", {"jpg": picture(1)[:200], "txt": b"c"})])
    darkroom("embed", d, tmp_path / "p", "--model", "tiny", check=3)
    s = one(tmp_path / "p", "x")
    assert s["outcome"] == "error" and s["stage"] == "decode" and s["offset"] > 0


def test_clip_retrieval_folder(tmp_path):
    for kind in ("img_emb", "metadata"):
        (tmp_path / kind).mkdir()
    np.save(tmp_path / "img_emb/img_emb_0.npy", np.zeros((3, 4), np.float16))
    pq.write_table(pa.table({"image_path": ["a", "b", "c"], "caption": ["x", "y", "z"]}), tmp_path / "metadata/metadata_0.parquet")
    assert one(tmp_path, "b")["caption"] == "y"


def test_key_that_is_a_number(tmp_path):
    p = Place(tmp_path / "p", [3])
    p.embedded({"id": pa.array([7, 8, None], pa.int64()), "caption": pa.array(["a", "b", "c"])})
    assert one(tmp_path / "p", "8")["caption"] == "b" and one(tmp_path / "p", "0:2")["caption"] == "c"


def test_not_a_place(tmp_path):
    assert "holds no embeddings" in darkroom("explain", tmp_path, "x", check=4).stderr


@pytest.mark.parametrize("renumber", [[], ["--renumber"]])
def test_exported_to(tmp_path, renumber):
    """The road itself: filter, dedup, export; every sample that stays is found where explain says."""
    import tarfile
    d, place, out = tmp_path / "shards", tmp_path / "place", tmp_path / "out"
    d.mkdir()
    for s in range(2):
        write_tar(d / f"{s:05d}.tar", [sample(100 * s + i, **({"jpg": picture(3)} if i in (4, 6) else {})) for i in range(10)])
    darkroom("embed", d, place, "--model", "tiny", "--metadata", check=0)
    darkroom("filter", place, "--where", "n != 7 and n != 105", check=0)
    darkroom("dedup", place, "--clusters", 2, "--eps", 0.001, "--kept-only", check=0)
    darkroom("export", d, place, out, "--samples-per-shard", 5, *renumber, check=0)
    outcomes = {}
    for s in range(2):
        for i in range(10):
            key = f"{100 * s + i:09d}"
            story = one(place, key)
            outcomes[key] = story["outcome"]
            assert ("exported" in story) == (story["outcome"] == "kept")
            if story["outcome"] != "kept":
                continue
            name = story["exported_key"] if renumber else key
            with tarfile.open(story["exported"]) as t:
                want = picture(3) if i in (4, 6) else sample(100 * s + i)[1]["jpg"]
                assert t.extractfile(f"{name}.jpg").read() == want
    assert [k for k, v in outcomes.items() if v == "dropped"] == ["000000007", "000000105"]
    gone = [k for k, v in outcomes.items() if v == "removed"]
    copies = {"000000003", "000000004", "000000006", "000000104", "000000106"}  # sample 3 is picture 3 itself
    assert len(gone) >= 3 and {one(place, k)["dedup"]["kept_instead"] for k in gone} <= copies
    assert sum(v == "kept" for v in outcomes.values()) == 20 - 2 - len(gone)
    darkroom("filter", place, "--where", "n > 8", check=0)  # the export is now of other rows
    assert "exported" not in one(place, "000000009")
