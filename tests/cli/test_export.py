"""export from end to end: bytes, names, order, tables, borders, exit codes, resume, other layouts, bad input."""
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from conftest import DARKROOM, ROOT, darkroom, picture, sample, tree, write_tar  # noqa: E402
from export_world import (add, all_members, embed, export, keys, many, members, nemo_place, own_place, remove,  # noqa: E402
                          retrieval_place, table, want_members, write_receipt, write_run)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Four shards of 6 samples and their place; nobody writes to them."""
    d = tmp_path_factory.mktemp("world")
    (d / "shards").mkdir()
    samples = [[sample(10 * s + i) for i in range(6)] for s in range(4)]
    for s, some in enumerate(samples):
        write_tar(d / f"shards/{s:05d}.tar", some)
    embed(d / "shards", d / "place", "--metadata")
    return d / "shards", d / "place", samples


@pytest.fixture
def place(world, tmp_path):
    return Path(shutil.copytree(world[1], tmp_path / "place"))


def flat(samples):
    return [s for some in samples for s in some]


# ---- what comes out ----

def test_everything_is_copied_byte_for_byte(world, place, tmp_path):
    shards, _, samples = world
    out = tmp_path / "out"
    r = export(shards, place, out, "--samples-per-shard", 10)
    assert "24 samples in 3 shards" in r.stderr
    assert all_members(out) == want_members(flat(samples))
    assert [len(members(out / f"{s:05d}.tar")) for s in range(3)] == [30, 30, 12]
    t = table(out)
    assert t.column_names[:6] == ["image_path", "caption", "shard", "key", "width", "height"]
    assert t["key"].to_pylist() == [k for k, _ in flat(samples)]
    assert t["n"].to_pylist() == [10 * s + i for s in range(4) for i in range(6)]
    assert t["shard"].to_pylist() == [f"{s:05d}.tar" for s in range(4) for _ in range(6)]
    assert t.schema.field("width").type == pa.int32() and t.schema.field("score").type == pa.float64()
    darkroom("verify", out, check=0)
    assert "export: 3 of 3 partitions done" in darkroom("status", out, check=0).stdout
    assert "24 samples" in darkroom("status", place, check=0).stdout.split("export:")[1]


def test_headers_are_plain_and_the_same_for_all(world, place, tmp_path):
    export(world[0], place, tmp_path / "out")
    with tarfile.open(tmp_path / "out/00000.tar") as t:
        assert {(m.mode, m.uid, m.gid, m.mtime, m.uname) for m in t.getmembers()} == {(0o444, 0, 0, 0, "")}
        assert not any(m.pax_headers for m in t.getmembers())


def test_filter_and_dedup_decide(world, place, tmp_path):
    shards, _, samples = world
    darkroom("filter", place, "--where", "n != 11 and n != 3", check=0)
    remove(place, [(0, 5), (2, 0), (2, 1), (1, 1)])  # the last was dropped by filter already
    r = export(shards, place, tmp_path / "out", "--samples-per-shard", 7)
    assert "19 of 24 rows are exported: filter dropped 2, dedup removed 3" in r.stderr
    gone = {3, 11, 5, 20, 21}
    left = [s for s in flat(samples) if int(s[0]) not in gone]
    assert all_members(tmp_path / "out") == want_members(left)
    assert table(tmp_path / "out")["n"].to_pylist() == [int(k) for k, _ in left]
    note = json.loads((place / "export/export.json").read_text())
    assert note == {"out": str(tmp_path / "out"), "rows": 24, "dropped": 2, "removed": 3, "samples": 19, "shards": 3}
    run = json.loads((place / "_darkroom/export/run.json").read_text())
    assert run["out"] == str(tmp_path / "out") and run["samples-per-shard"] == "7"


def test_webdataset_reads_it(world, place, tmp_path):
    wds = pytest.importorskip("webdataset")
    export(world[0], place, tmp_path / "out", "--samples-per-shard", 10)
    got = list(wds.WebDataset([str(p) for p in sorted((tmp_path / "out").glob("*.tar"))], shardshuffle=False))
    assert [(g["__key__"], g["jpg"], g["txt"], g["json"]) for g in got] == [
        (k, m["jpg"], m["txt"], m["json"]) for k, m in flat(world[2])]


def test_other_pictures_and_members(tmp_path):
    """PNG, WebP, extra members, capital letters, folders, long and odd names, large members: all pass unchanged."""
    rng = np.random.default_rng(3)
    files = [("a/b/one.png", picture(1, 40, 30, "PNG")), ("a/b/one.txt", b"eins\r\n"), ("a/b/one.json", b"{\"n\":  1 }"),
             ("a/b/one.seg.png", picture(2, 40, 30, "PNG")), ("a/b/one.cls", b""),
             ("two.WebP", picture(3, 40, 30, "WEBP")), ("two.txt", b""), ("two.NPY", rng.bytes(700_000)),
             ("x" * 180 + "/" + "y" * 90 + ".jpg", picture(4)), ("x" * 180 + "/" + "y" * 90 + ".txt", "ü".encode()),
             ("café.jpg", picture(5)), ("café.txt", b"cup")]
    with tarfile.open(tmp_path / "s.tar", "w", format=tarfile.PAX_FORMAT) as t:
        for name, data in files:
            add(t, name, data, mtime=1234.5, uid=1000, uname="me", mode=0o600)
        folder = tarfile.TarInfo("a/b")
        folder.type = tarfile.DIRTYPE
        t.addfile(folder)
        add(t, "__MACOSX__/x.json", b"{}")
        add(t, "no-extension", b"not a sample")
    embed(tmp_path / "s.tar", tmp_path / "place")
    export(tmp_path / "s.tar", tmp_path / "place", tmp_path / "out")
    assert all_members(tmp_path / "out") == files
    assert table(tmp_path / "out")["key"].to_pylist() == ["a/b/one", "two", "x" * 180 + "/" + "y" * 90, "café"]


def test_scores_and_embeddings(world, place, tmp_path):
    darkroom("score", place, "--head", "aesthetic", "--head", "nsfw", check=0)
    export(world[0], place, tmp_path / "out", "--with-embedding", "--samples-per-shard", 9)
    t = table(tmp_path / "out")
    scores = pa.concat_tables([pq.read_table(place / f"scores/scores_{p}.parquet") for p in range(4)])
    for name in ("aesthetic_score", "nsfw_score"):
        assert t.schema.field(name).type == pa.float32() and t[name].to_pylist() == scores[name].to_pylist()
    assert t.schema.field("image_embedding").type == pa.list_(pa.field("element", pa.float32()))
    want = np.concatenate([np.load(place / f"img_emb/img_emb_{p}.npy") for p in range(4)]).astype(np.float32)
    assert np.array_equal(np.array(t["image_embedding"].to_pylist(), np.float32), want)
    assert t.column_names[-1] == "image_embedding" and "keep" not in t.column_names


def test_fields_that_are_called_like_our_files(tmp_path):
    """keep and reason are names of sidecar columns, but also of somebody's JSON."""
    write_tar(tmp_path / "s.tar", [sample(i, json=json.dumps({"keep": f"k{i}", "reason": i, "l": [1, i]}).encode()) for i in range(5)])
    embed(tmp_path / "s.tar", tmp_path / "place", "--metadata")
    darkroom("filter", tmp_path / "place", "--where", "width > 0 and key != '000000002'", check=0)
    export(tmp_path / "s.tar", tmp_path / "place", tmp_path / "out")
    t = table(tmp_path / "out").to_pydict()
    assert t["keep"] == ["k0", "k1", "k3", "k4"] and t["reason"] == [0, 1, 3, 4] and t["l"][1] == "[1,1]"


def test_types_are_those_of_the_whole_place(tmp_path):
    (tmp_path / "s").mkdir()
    write_tar(tmp_path / "s/0.tar", [sample(0, json=b'{"v": 1, "only": true}')])
    write_tar(tmp_path / "s/1.tar", [sample(1, json=b'{"v": 2.5}')])
    write_tar(tmp_path / "s/2.tar", [sample(2, json=b'{"v": 3, "late": "x"}')])
    embed(tmp_path / "s", tmp_path / "place", "--metadata")
    export(tmp_path / "s", tmp_path / "place", tmp_path / "out", "--samples-per-shard", 1)
    tables = [pq.read_table(tmp_path / f"out/0000{i}.parquet") for i in range(3)]
    assert tables[0].schema == tables[1].schema == tables[2].schema
    assert pa.concat_tables(tables).to_pydict()["v"] == [1.0, 2.5, 3.0]
    assert pa.concat_tables(tables).to_pydict()["late"] == [None, None, "x"]


# ---- NeMo's numbering ----

def test_renumber(world, place, tmp_path):
    shards, _, samples = world
    export(shards, place, tmp_path / "out", "--samples-per-shard", 10, "--renumber")
    ids = [f"{n // 10:05d}{n % 10}" for n in range(24)]
    want = [(f"{i}.{ext}", data) for i, (_, files) in zip(ids, flat(samples)) for ext, data in files.items()]
    assert all_members(tmp_path / "out") == want
    t = table(tmp_path / "out").to_pydict()
    assert t["key"] == ids and t["old_key"] == [k for k, _ in flat(samples)]
    assert t["image_path"] == t["old_key"]  # what came with the rows stays
    export(shards, place, tmp_path / "o2", "--samples-per-shard", 10, "--renumber", "--old-id-col", "was", "--max_shards=3")
    assert sorted(p.name for p in (tmp_path / "o2").glob("*.tar")) == ["000.tar", "001.tar", "002.tar"]
    assert table(tmp_path / "o2").to_pydict()["was"] == t["old_key"]
    assert keys(tmp_path / "o2")[11] == "0011"


@pytest.mark.parametrize("per, digits, key", [(1001, 5, "000420007"), (100, 3, "04207"), (11, 3, "04207"), (10, 2, "427")])
def test_ids_of_nemo(tmp_path, per, digits, key):
    """Shard 42, sample 7 (curator.md 7.1)."""
    n = 42 * per + 8
    (tmp_path / "n").mkdir()
    ids = [f"{i:09d}" for i in range(n)]
    many(tmp_path / "n/00000.tar", [f"{i}.jpg" for i in ids])
    pq.write_table(pa.table({"id": ids}), tmp_path / "n/00000.parquet")
    export(tmp_path / "n", tmp_path / "n", tmp_path / "out", "--renumber", "--samples-per-shard", per, "--max-shards", digits)
    last = f"{42:0{digits}d}"
    assert [m for m, _ in members(tmp_path / f"out/{last}.tar")][-1] == f"{key}.jpg"
    t = pq.read_table(tmp_path / f"out/{last}.parquet").to_pydict()
    assert t["id"][-1] == key and t["old_key"][-1] == f"{n - 1:09d}"


def test_five_images_two_per_tar(tmp_path):
    nemo_place(tmp_path / "n", [["0", "1", "2", "3", "4"]])
    export(tmp_path / "n", tmp_path / "n", tmp_path / "out", "--samples-per-shard", 2)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "00000.parquet", "00000.tar", "00001.parquet", "00001.tar", "00002.parquet", "00002.tar", "_darkroom"]


def test_too_many_shards_for_the_digits(world, place, tmp_path):
    r = export(world[0], place, tmp_path / "out", "--samples-per-shard", 2, "--max-shards", 1, check=2)
    assert "--max-shards" in r.stderr and not (tmp_path / "out").exists()


def test_old_key_is_taken(world, place, tmp_path):
    r = export(world[0], place, tmp_path / "out", "--renumber", "--old-key", "url", check=2)
    assert "url" in r.stderr and "--old-key" in r.stderr


# ---- samples that have no row ----

def test_dropped_samples_do_not_shift_the_others(tmp_path):
    """Between the rows stand samples that embed dropped, for every reason, some with keys that look alike in a table."""
    good, bad = picture(1), b"no picture"
    files = [("\udcff1", bad), ("\udcfe1", good), ("\udcfd1", good), ("\udcfc1", bad), ("a", good), ("a", good), ("b", good),
             ("c", bad), ("b", good), ("d", good), ("d/", good), ("e", None), ("f", good)]
    with tarfile.open(tmp_path / "s.tar", "w", format=tarfile.USTAR_FORMAT, encoding="utf-8") as t:
        for i, (key, data) in enumerate(files):
            if data is not None:
                add(t, f"{key}.jpg", data + (b"" if data is bad else bytes([i])))
            add(t, f"{key}.txt", f"caption {i}".encode())
    embed(tmp_path / "s.tar", tmp_path / "place", check=3)
    e = pq.read_table(tmp_path / "place/errors/errors_0.parquet").to_pydict()
    assert sorted(e["status"]) == ["duplicate_member", "missing_image", "non_adjacent", "unsupported", "unsupported", "unsupported"]
    export(tmp_path / "s.tar", tmp_path / "place", tmp_path / "out")
    captions = [d for n, d in all_members(tmp_path / "out") if n.endswith(".txt")]
    assert captions == [f"caption {i}".encode() for i in (1, 2, 6, 9, 10, 12)]
    assert captions == [c.encode() for c in table(tmp_path / "out").to_pydict()["caption"]]


@pytest.mark.parametrize("cut", [-300, -10240, -20000])
def test_a_damaged_source_gives_what_embed_used(world, tmp_path, cut):
    shards = tmp_path / "s"
    shards.mkdir()
    data = (world[0] / "00000.tar").read_bytes()
    (shards / "00000.tar").write_bytes(data[:cut])
    embed(shards, tmp_path / "place", check=3)
    rows = pq.read_table(tmp_path / "place/metadata/metadata_0.parquet")["key"].to_pylist()
    assert rows
    export(shards, tmp_path / "place", tmp_path / "out")
    assert keys(tmp_path / "out") == rows
    assert all_members(tmp_path / "out") == want_members(world[2][0])[:3 * len(rows)]


# ---- nothing left, some shards without survivors ----

def test_nothing_is_kept(world, place, tmp_path):
    darkroom("filter", place, "--where", "n < 0", check=0)
    r = export(world[0], place, tmp_path / "out")
    assert "nothing is left to export" in r.stderr
    assert not list((tmp_path / "out").glob("*.tar"))
    assert "export: 0 of 0 partitions done" in darkroom("status", tmp_path / "out", check=0).stdout
    darkroom("verify", tmp_path / "out", check=0)
    export(world[0], place, tmp_path / "out")
    darkroom("filter", place, "--where", "n < 2", check=0)
    assert "before: filter changed since" in export(world[0], place, tmp_path / "out", check=7).stderr
    export(world[0], place, tmp_path / "out", "--force-new-run")
    assert keys(tmp_path / "out") == ["000000000", "000000001"]


def test_shards_without_survivors_are_not_needed(world, place, tmp_path):
    shards, _, samples = world
    darkroom("filter", place, "--where", "n < 6 or n >= 30", check=0)
    (tmp_path / "some").mkdir()
    for s in (0, 3):
        shutil.copy(shards / f"{s:05d}.tar", tmp_path / "some")
    export(tmp_path / "some", place, tmp_path / "out", "--samples-per-shard", 5)
    assert all_members(tmp_path / "out") == want_members(samples[0] + samples[3])


# ---- the same bytes whatever happens ----

@pytest.mark.parametrize("per", [1, 4, 7, 100])
def test_threads_and_tasks_do_not_matter(world, place, tmp_path, per):
    shards = world[0]
    darkroom("filter", place, "--where", "n % 7 != 3", check=0)
    args = ("--samples-per-shard", per, "--renumber", "--with-embedding")
    export(shards, place, tmp_path / "one", *args, "--threads", 1)
    want = tree(tmp_path / "one")
    for threads in (2, 5):
        export(shards, place, tmp_path / f"t{threads}", *args, "--threads", threads, "--memory", "64M")
        assert tree(tmp_path / f"t{threads}") == want
    for i in (2, 0, 3, 1):
        export(shards, place, tmp_path / "many", *args, "--task", f"{i}/4")
    assert tree(tmp_path / "many") == want


def test_same_command_again_does_nothing(world, place, tmp_path):
    export(world[0], place, tmp_path / "out", "--samples-per-shard", 5)
    before = {p: p.stat().st_mtime_ns for d in (tmp_path / "out", place) for p in d.rglob("*") if p.is_file()}
    r = export(world[0], place, tmp_path / "out", "--samples-per-shard", 5)
    assert "nothing to do: all 5 shards" in r.stderr
    assert before == {p: p.stat().st_mtime_ns for d in (tmp_path / "out", place) for p in d.rglob("*") if p.is_file()}


def test_what_is_missing_is_done_again(world, place, tmp_path):
    args = (world[0], place, tmp_path / "out", "--samples-per-shard", 5)
    export(*args)
    want = tree(tmp_path / "out")
    (tmp_path / "out/00001.tar").unlink()
    (tmp_path / "out/_darkroom/export/3.json").unlink()
    (tmp_path / "out/00004.parquet").write_bytes(b"short")
    assert darkroom("verify", tmp_path / "out").returncode == 7
    assert "3 shards written" in export(*args).stderr
    assert tree(tmp_path / "out") == want


def test_another_export_is_refused(world, place, tmp_path):
    shards = world[0]
    export(shards, place, tmp_path / "out", "--samples-per-shard", 5)
    r = export(shards, place, tmp_path / "out", "--samples-per-shard", 8, check=7)
    assert "samples-per-shard was '5', now '8'" in r.stderr
    assert len(list((tmp_path / "out").glob("*.tar"))) == 5
    (tmp_path / "out/00004.tar").rename(tmp_path / "out/00009.tar")  # a leftover without a receipt
    export(shards, place, tmp_path / "out", "--samples-per-shard", 8, "--force-new-run")
    assert len(list((tmp_path / "out").glob("*.tar"))) == len(list((tmp_path / "out").glob("*.parquet"))) == 3
    export(shards, place, tmp_path / "fresh", "--samples-per-shard", 8)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_what_changed_is_named(world, place, tmp_path):
    shards = world[0]
    export(shards, place, tmp_path / "out")
    darkroom("filter", place, "--where", "n != 3", check=0)
    darkroom("dedup", place, "--clusters", 1, "--eps", 0.0001, check=0)
    r = export(shards, place, tmp_path / "out", check=7)
    assert "before: filter, dedup changed since; use another folder, or --force-new-run" in r.stderr
    export(shards, place, tmp_path / "out", "--force-new-run")
    darkroom("score", place, "--head", "aesthetic", check=0)
    assert "before: scores changed since" in export(shards, place, tmp_path / "out", check=7).stderr


def test_stopped_by_a_signal(world, place, tmp_path):
    args = [f"pipe:cat {world[0]}/{{00000..00002}}.tar", f"pipe:cat {world[0]}/00003.tar && sleep 60", place]
    p = subprocess.Popen([str(DARKROOM), "export", *map(str, args), str(tmp_path / "out"), "--samples-per-shard", "6"],
                         stderr=subprocess.PIPE, text=True, env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
    deadline = time.time() + 30
    while not (tmp_path / "out/_darkroom/export/2.json").exists() and time.time() < deadline:
        time.sleep(0.05)
    p.send_signal(signal.SIGTERM)
    assert p.wait(20) == 75 and "the same command goes on from here" in p.stderr.read()
    assert not list((tmp_path / "out").rglob("*.tmp"))
    export(world[0], place, tmp_path / "out", "--samples-per-shard", 6)
    assert all_members(tmp_path / "out") == want_members(flat(world[2]))


# ---- sources that are not what they were ----

def copy_of(shards, tmp_path):
    return Path(shutil.copytree(shards, tmp_path / "shards"))


@pytest.mark.parametrize("where", ["caption", "dropped", "end"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_changed_source_is_refused(world, place, tmp_path, where, threads):
    """One byte, in a sample that is exported, in one that is not, or behind all: exit 7, and nothing of that shard is visible."""
    shards = copy_of(world[0], tmp_path)
    darkroom("filter", place, "--where", "n != 21", check=0)
    data = bytearray((shards / "00002.tar").read_bytes())
    at = {"caption": data.index(b"number 23"), "dropped": data.index(b"number 21"), "end": len(data) - 1}[where]
    data[at] ^= 1
    (shards / "00002.tar").write_bytes(data)
    args = (shards, place, tmp_path / "out", "--samples-per-shard", 3, "--threads", threads)
    r = export(*args, check=7)
    assert "00002.tar has changed since it was embedded" in r.stderr
    made = {p.name for p in (tmp_path / "out").glob("*.tar")}
    assert not made & {"00004.tar", "00005.tar"} and (threads > 1 or {"00000.tar", "00003.tar"} <= made)
    shutil.copy(world[0] / "00002.tar", shards)
    export(*args)
    export(world[0], place, tmp_path / "fresh", "--samples-per-shard", 3)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_source_of_another_size_is_refused_unread(world, place, tmp_path):
    shards = copy_of(world[0], tmp_path)
    write_tar(shards / "00003.tar", [sample(100 + i) for i in range(9)])
    r = export(shards, place, tmp_path / "out", "--samples-per-shard", 2, check=7)
    assert "00003.tar has changed since it was embedded: it has" in r.stderr
    assert not list((tmp_path / "out").glob("*.tar"))


@pytest.mark.parametrize("per", [2, 6, 9])
def test_a_missing_shard_stops_only_what_needs_it(world, place, tmp_path, per):
    shards = copy_of(world[0], tmp_path)
    (shards / "00001.tar").rename(tmp_path / "away.tar")
    pattern = f"{shards}/{{00000..00003}}.tar"
    args = (pattern, place, tmp_path / "out", "--samples-per-shard", per)
    r = export(*args, check=3)
    assert "00001.tar" in r.stderr and r.stderr.count("No such file") == 1 and "tries again" in r.stderr
    lost = {n // per for n in range(6, 12)}
    assert {int(p.stem) for p in (tmp_path / "out").glob("*.tar")} == set(range(-(-24 // per))) - lost
    (tmp_path / "away.tar").rename(shards / "00001.tar")
    export(*args)
    export(world[0], place, tmp_path / "fresh", "--samples-per-shard", per)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_shard_that_is_not_given(world, place, tmp_path):
    shards = copy_of(world[0], tmp_path)
    (shards / "00003.tar").unlink()
    r = export(shards, place, tmp_path / "out", "--samples-per-shard", 6, check=3)
    assert "was made from 00003.tar, which is not among the shards given" in r.stderr
    assert len(list((tmp_path / "out").glob("*.tar"))) == 3


def test_no_shard_at_all(world, place, tmp_path):
    assert "no such shard" in export(tmp_path / "no/{0..3}.tar", place, tmp_path / "out", check=4).stderr
    assert not (tmp_path / "out").exists()


def test_a_pipe_that_fails_half_way(world, place, tmp_path):
    shards = world[0]
    r = export(f"pipe:cat {shards}/{{00000..00002}}.tar", f"pipe:head -c 5000 {shards}/00003.tar && exit 7", place,
               tmp_path / "out", "--samples-per-shard", 6, check=3)
    assert "status 7" in r.stderr and len(list((tmp_path / "out").glob("*.tar"))) == 3


# ---- what SHARDS may be ----

def test_pipes(world, tmp_path):
    shards = world[0]
    words = f"pipe:cat {shards}/{{00000..00003}}.tar"
    embed(words, tmp_path / "place", "--metadata")
    export(words, tmp_path / "place", tmp_path / "out", "--samples-per-shard", 10)
    assert all_members(tmp_path / "out") == want_members(flat(world[2]))
    export(shards, tmp_path / "place", tmp_path / "files", "--samples-per-shard", 10)  # the same shards as files
    assert tree(tmp_path / "out") == tree(tmp_path / "files")


def test_pipes_with_one_name(world, tmp_path):
    """Labels of commands are the last part of their data's name: they may be the same."""
    for d in ("a", "b"):
        (tmp_path / d).mkdir()
    shutil.copy(world[0] / "00000.tar", tmp_path / "a/x.tar")
    shutil.copy(world[0] / "00001.tar", tmp_path / "b/x.tar")
    for extra in ((), ("--output-partition-count", 1)):
        place = tmp_path / f"p{len(extra)}"
        embed(f"pipe:cat {tmp_path}/{{a,b}}/x.tar", place, *extra)
        export(f"pipe:cat {tmp_path}/{{a,b}}/x.tar", place, tmp_path / f"o{len(extra)}", "--samples-per-shard", 4)
        assert all_members(tmp_path / f"o{len(extra)}") == want_members(world[2][0] + world[2][1])
    r = export(f"pipe:cat {tmp_path}/{{a,b}}/x.tar", f"pipe:cat {tmp_path}/0.tar", tmp_path / "p0", tmp_path / "o3", check=3)
    assert "several of the shards are called so" in r.stderr


def test_packed_shards(world, tmp_path):
    (tmp_path / "s").mkdir()
    for i in range(2):
        with gzip.open(tmp_path / f"s/{i}.tar.gz", "wb") as f:
            f.write((world[0] / f"0000{i}.tar").read_bytes())
    embed(tmp_path / "s", tmp_path / "place")
    export(tmp_path / "s", tmp_path / "place", tmp_path / "out")
    assert all_members(tmp_path / "out") == want_members(world[2][0] + world[2][1])


@pytest.mark.parametrize("count", [1, 3])
def test_several_shards_in_one_partition(world, tmp_path, count):
    """Rows stand partition after partition; inside, in shard order."""
    shards, _, samples = world
    place = tmp_path / "place"
    embed(shards, place, "--metadata", "--output-partition-count", count)
    darkroom("filter", place, "--where", "n % 10 != 2", check=0)
    order = [s for p in range(count) for s in range(p, 4, count)]
    left = [x for s in order for x in samples[s] if int(x[0]) % 10 != 2]
    for per in (3, 8, 100):
        export(shards, place, tmp_path / f"o{per}", "--samples-per-shard", per)
        assert all_members(tmp_path / f"o{per}") == want_members(left)
        export(shards, place, tmp_path / f"t{per}", "--samples-per-shard", per, "--threads", 4)
        assert tree(tmp_path / f"o{per}") == tree(tmp_path / f"t{per}")


def test_large_partitions_are_entered_in_the_middle(tmp_path):
    """More rows than a batch holds, several shards, several row groups, and outputs that begin anywhere."""
    (tmp_path / "s").mkdir()
    for s in range(3):
        many(tmp_path / f"s/{s}.tar", [f"{s}{i:05d}.jpg" for i in range(3500)])
    place = own_place(tmp_path / "place", tmp_path / "s", 1)
    darkroom("filter", place, "--where", "not endswith(key, '7')", check=0)
    export(tmp_path / "s", place, tmp_path / "out", "--samples-per-shard", 1000, "--threads", 4)
    export(tmp_path / "s", place, tmp_path / "one", "--samples-per-shard", 1000, "--threads", 1)
    assert tree(tmp_path / "out") == tree(tmp_path / "one")
    want = [f"{s}{i:05d}" for s in range(3) for i in range(3500) if i % 10 != 7]
    assert keys(tmp_path / "out") == want == table(tmp_path / "out")["key"].to_pylist()
    for n in (1, 2, 5, 8):  # what is missing lies apart, behind more rows than a batch has, some in one source
        (tmp_path / f"one/_darkroom/export/{n:02d}.json").unlink()
    assert "4 shards written" in export(tmp_path / "s", place, tmp_path / "one", "--samples-per-shard", 1000, "--threads", 1).stderr
    assert tree(tmp_path / "out") == tree(tmp_path / "one")


# ---- folders of pictures ----

@pytest.fixture
def pictures(tmp_path):
    d = tmp_path / "pictures"
    (d / "cats").mkdir(parents=True)
    names = ["a.jpg", "b.v2.png", "cats/100%.JPG", "cats/x.webp", "same.jpg", "same.png", "__odd.jpg", "bad.jpg"]
    for i, n in enumerate(names):
        fmt = {"png": "PNG", "webp": "WEBP"}.get(n.rsplit(".")[-1].lower(), "JPEG")
        (d / n).write_bytes(b"broken" if n == "bad.jpg" else picture(i, 40, 30, fmt))
    for stem in ("a", "b.v2", "cats/100%", "same"):
        (d / f"{stem}.txt").write_text(f"caption of {stem}")
    (d / "a.json").write_text('{"n": 1}')
    return d


@pytest.mark.parametrize("count", [1, 3])
def test_pictures_become_shards(pictures, tmp_path, count):
    place = tmp_path / "place"
    embed(pictures, place, "--metadata", "--enable-text", "false", "--output-partition-count", count, check=3)
    export(pictures, place, tmp_path / "out", "--samples-per-shard", 3)
    got = dict(all_members(tmp_path / "out"))
    where = {"a.jpg": "a.jpg", "a.txt": "a.txt", "a.json": "a.json", "b%2Ev2.png": "b.v2.png", "b%2Ev2.txt": "b.v2.txt",
             "cats/100%25.JPG": "cats/100%.JPG", "cats/100%25.txt": "cats/100%.txt", "cats/x.webp": "cats/x.webp",
             "same%2Ejpg.jpg": "same.jpg", "same%2Ejpg.txt": "same.txt", "same%2Epng.png": "same.png", "same%2Epng.txt": "same.txt",
             "%5F_odd.jpg": "__odd.jpg"}
    assert got == {name: (pictures / path).read_bytes() for name, path in where.items()}
    t = table(tmp_path / "out").to_pydict()
    assert t["key"] == keys(tmp_path / "out")
    assert sorted(Path(p).relative_to(pictures).as_posix() for p in t["image_path"]) == sorted(
        {p for p in where.values() if not p.endswith((".txt", ".json"))})
    export(pictures, place, tmp_path / "many", "--samples-per-shard", 3, "--threads", 3)
    assert tree(tmp_path / "out") == tree(tmp_path / "many")
    embed(tmp_path / "out", tmp_path / "again", "--enable-text", "false")  # and every one is a sample again
    assert sum(pq.read_table(p).num_rows for p in (tmp_path / "again/metadata").iterdir()) == 7


def test_a_changed_picture_is_refused(pictures, tmp_path):
    place = tmp_path / "place"
    embed(pictures, place, "--enable-text", "false", check=3)
    data = (pictures / "a.txt").read_bytes()
    (pictures / "a.txt").write_bytes(data[::-1])
    assert "has changed since it was embedded" in export(pictures, place, tmp_path / "out", check=7).stderr
    (pictures / "a.txt").write_bytes(data)
    (pictures / "new.jpg").write_bytes(picture(9))
    assert "holds 9 samples, but 8 when it was embedded" in export(pictures, place, tmp_path / "out", check=7).stderr
    assert not list((tmp_path / "out").glob("*.tar"))


def test_two_folders_of_pictures(pictures, tmp_path):
    other = tmp_path / "qictures"
    other.mkdir()
    for i in range(9):
        (other / f"{i}.jpg").write_bytes(picture(50 + i))
    (other / "2.jpg").write_bytes(b"broken")
    darkroom("embed", pictures, other, tmp_path / "place", "--model", "tiny", "--enable-text", "false", check=3)
    export(pictures, other, tmp_path / "place", tmp_path / "out")
    assert keys(tmp_path / "out") == ["%5F_odd", "a", "b%2Ev2", "cats/100%25", "cats/x", "same%2Ejpg", "same%2Epng",
                                      "0", "1", "3", "4", "5", "6", "7", "8"]


def test_pictures_are_not_shards(world, place, pictures, tmp_path):
    assert "holds pictures, but the place was made from shards" in export(pictures, place, tmp_path / "out", check=2).stderr


# ---- places of others ----

def test_nemo_layout(tmp_path):
    ids = [[f"{s:05d}{i:04d}" for i in range(5)] for s in range(3)]
    nemo = nemo_place(tmp_path / "n", ids, end=False)
    darkroom("filter", nemo, "--where", "not endswith(id, '2')", check=0)
    export(nemo, nemo, tmp_path / "out", "--samples-per-shard", 5, "--with-embedding")
    left = [i for some in ids for i in some if not i.endswith("2")]
    assert keys(tmp_path / "out") == left == table(tmp_path / "out")["id"].to_pylist()
    vectors = np.concatenate([np.array(pq.read_table(nemo / f"{s:05d}.parquet")["image_embedding"].to_pylist(), np.float32)[[0, 1, 3, 4]]
                              for s in range(3)])
    assert np.array_equal(np.array(table(tmp_path / "out")["image_embedding"].to_pylist(), np.float32), vectors)
    # what export writes is NeMo's layout: once more gives the same tars
    export(tmp_path / "out", tmp_path / "out", tmp_path / "again", "--samples-per-shard", 5, "--with-embedding")
    for name in ("00000.tar", "00001.tar", "00002.tar"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert table(tmp_path / "again") == table(tmp_path / "out")


def test_nemo_ids_are_integers(tmp_path):
    """NeMo compares ids as numbers: 000000007 in the tar is 7 in the table."""
    nemo = nemo_place(tmp_path / "n", [[f"{i:09d}" for i in range(4)]])
    t = pq.read_table(nemo / "00000.parquet")
    pq.write_table(t.set_column(0, "id", pa.array([0, 1, 2, 3])), nemo / "00000.parquet")
    export(nemo, nemo, tmp_path / "out")
    assert keys(tmp_path / "out") == [f"{i:09d}" for i in range(4)]
    assert table(tmp_path / "out")["id"].to_pylist() == [0, 1, 2, 3]
    export(nemo, nemo, tmp_path / "new", "--renumber")
    assert table(tmp_path / "new")["id"].to_pylist() == [f"00000000{i}" for i in range(4)]


def test_nemo_rows_in_another_order(tmp_path):
    nemo = nemo_place(tmp_path / "n", [["3", "1", "2"]])
    t = pq.read_table(nemo / "00000.parquet")
    pq.write_table(t.take([1, 2, 0]), nemo / "00000.parquet")
    assert "stand in another order" in export(nemo, nemo, tmp_path / "out", check=7).stderr


@pytest.mark.parametrize("count", [1, 2, 4])
def test_clip_retrieval_layout(world, tmp_path, count):
    shards, _, samples = world
    parts = [[k for s in range(p, 4, count) for k, _ in samples[s] if not k.endswith("3")] for p in range(count)]
    place = retrieval_place(tmp_path / "cr", parts)
    remove(place, [(0, 0), (count - 1, 4)])
    export(shards, place, tmp_path / "out", "--samples-per-shard", 4)
    gone = {parts[0][0], parts[count - 1][4]}
    by_key = dict(flat(samples))
    left = [(k, by_key[k]) for p in parts for k in p if k not in gone]
    assert all_members(tmp_path / "out") == want_members(left)
    t = table(tmp_path / "out").to_pydict()
    assert t["key"] == t["image_path"] == [k for k, _ in left]
    export(shards, place, tmp_path / "many", "--samples-per-shard", 4, "--threads", 4)
    assert tree(tmp_path / "out") == tree(tmp_path / "many")


def test_clip_retrieval_with_other_shards(world, tmp_path):
    place = retrieval_place(tmp_path / "cr", [["000000000", "nowhere", "000000001"]])
    r = export(world[0], place, tmp_path / "out", check=7)
    assert "before the sample 'nowhere' of row 1" in r.stderr


def test_a_place_without_keys(world, tmp_path):
    (tmp_path / "cr/img_emb").mkdir(parents=True)
    np.save(tmp_path / "cr/img_emb/img_emb_0.npy", np.ones((3, 4), np.float16))
    assert "no column names the samples" in export(world[0], tmp_path / "cr", tmp_path / "out", check=4).stderr


# ---- keys ----

def test_keys_that_would_merge(tmp_path):
    (tmp_path / "s").mkdir()
    for s in range(2):
        write_tar(tmp_path / f"s/{s}.tar", [(k, sample(10 * s + i)[1]) for i, k in enumerate(["x", "y", "x2" if s else "z"])])
    embed(tmp_path / "s", tmp_path / "place", "--metadata")
    r = export(tmp_path / "s", tmp_path / "place", tmp_path / "out")
    assert "2 samples have the key of another sample" in r.stderr and keys(tmp_path / "out") == ["x", "y", "z", "x", "y", "x2"]
    darkroom("filter", tmp_path / "place", "--where", "n == 0 or n >= 10", check=0)
    r = export(tmp_path / "s", tmp_path / "place", tmp_path / "o2", check=2)
    assert "two samples 'x' side by side" in r.stderr and "--renumber" in r.stderr
    export(tmp_path / "s", tmp_path / "place", tmp_path / "o3", "--renumber")
    assert table(tmp_path / "o3").to_pydict()["old_key"] == ["x", "x", "y", "x2"]


def test_hostile_names_stay_names(tmp_path):
    with tarfile.open(tmp_path / "s.tar", "w") as t:
        for i, key in enumerate(["../../../../tmp/evil", "/etc/evil", "a\x1b[31mb", "tab\there", "new\nline"]):
            add(t, f"{key}.jpg", picture(i))
            add(t, f"{key}.txt", b"x")
    embed(tmp_path / "s.tar", tmp_path / "place")
    export(tmp_path / "s.tar", tmp_path / "place", tmp_path / "out")
    assert all_members(tmp_path / "out") == members(tmp_path / "s.tar")
    assert sorted(p.name for p in tmp_path.rglob("*") if "evil" in p.name) == []
    lines = export("--list", tmp_path / "place").stdout.split("\n")
    assert lines[3:] == ["s.tar\ttab\\there", "s.tar\tnew\\nline", ""]


# ---- list ----

def test_list(world, place, tmp_path):
    darkroom("filter", place, "--where", "n in [3, 14, 25, 21]", check=0)
    want = "00000.tar\t000000003\n00001.tar\t000000014\n00002.tar\t000000021\n00002.tar\t000000025\n"
    remove(place, [(2, 5)])
    want = want.replace("00002.tar\t000000025\n", "")
    assert export("--list", place).stdout == want
    export("--list", place, tmp_path / "l/kept.tsv")
    assert (tmp_path / "l/kept.tsv").read_text() == want
    export("--list", tmp_path / "no-such-shards", place, tmp_path / "l/kept2.tsv")
    assert (tmp_path / "l/kept2.tsv").read_text() == want
    assert export("--list", place, tmp_path / "l", check=2).stderr.count("is a folder") == 1
    assert export("--list", check=2) and export("--list", place, "--task", "0/2", check=2)


def test_list_of_other_layouts(tmp_path):
    assert export("--list", retrieval_place(tmp_path / "cr", [["a"], ["b", "c"]])).stdout == "0\ta\n1\tb\n1\tc\n"
    assert export("--list", nemo_place(tmp_path / "n", [["7"], ["8"]])).stdout == "00000\t7\n00001\t8\n"


# ---- usage, bad places ----

def test_usage(world, place, tmp_path):
    shards = world[0]
    for args in ((shards, place), ("--samples-per-shard", 0), ("--max-shards", 0), ("--max-shards", 13), ("--threads", -1),
                 ("--task", "2/2"), ("--old-key", "")):
        args = args if len(args) == 2 and args[0] is shards else (shards, place, tmp_path / "out", *args)
        export(*args, check=2)
    assert not (tmp_path / "out").exists()


def test_out_must_not_be_the_source(world, place, tmp_path):
    shards = copy_of(world[0], tmp_path)
    before = tree(shards)
    for force in ((), ("--force-new-run",)):
        assert "another folder" in export(shards, place, shards, *force, check=2).stderr
        assert "another folder" in export(shards, place, place, *force, check=2).stderr
        assert "another folder" in export(f"{shards}/00000.tar", place, f"{shards}/.", *force, check=2).stderr
    assert tree(shards) == before
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/00007.tar").write_bytes(b"somebody's")
    assert "was not made by export" in export(shards, place, tmp_path / "foreign", check=7).stderr
    assert (tmp_path / "foreign/00007.tar").read_bytes() == b"somebody's"


def test_half_a_filter_and_half_a_dedup(world, place, tmp_path):
    darkroom("filter", place, "--where", "n > 5", "--task", "0/2", check=0)
    assert "run darkroom filter to its end" in export(world[0], place, tmp_path / "out", check=4).stderr
    darkroom("filter", place, "--where", "n > 5", check=0)
    write_run(place, "dedup-eps", {"partitions": "1"})
    assert "dedup was not finished" in export(world[0], place, tmp_path / "out", check=4).stderr
    remove(place, [(9, 0)])
    assert "row 0 of partition 9" in export(world[0], place, tmp_path / "out", check=4).stderr
    assert not (tmp_path / "out").exists()


def test_dedup_of_other_rows_is_refused(world, place, tmp_path):
    """A list of rows by place means nothing once the rows are others."""
    shards = world[0]
    darkroom("filter", place, "--where", "n != 3", check=0)
    darkroom("dedup", place, "--kept-only", "--clusters", 2, "--eps", 0.0001, check=0)
    export(shards, place, tmp_path / "out")
    assert keys(tmp_path / "out") == [f"{10 * s + i:09d}" for s in range(4) for i in range(6) if (s, i) != (0, 3)]
    darkroom("filter", place, "--where", "n != 4", check=0)
    assert "made from other verdicts of filter than those here; run darkroom dedup" in export(shards, place, tmp_path / "o2", check=7).stderr
    darkroom("dedup", place, "--kept-only", "--clusters", 2, "--eps", 0.0001, check=0)
    export(shards, place, tmp_path / "o2")
    darkroom("filter", place, "--where", "n >= 0", check=0)
    darkroom("dedup", place, "--clusters", 2, "--eps", 0.0001, "--force-new-run")
    embed(shards, place, "--metadata", "--normalize", "false", "--force-new-run")
    darkroom("filter", place, "--where", "n >= 0", check=0)
    assert "made from other embeddings than those here; run darkroom dedup" in export(shards, place, tmp_path / "o3", check=7).stderr


def test_sidecars_of_other_pictures_are_refused(world, place, tmp_path):
    """Same keys, same counts, other pictures: scores, verdicts and duplicates of the old ones count for nothing."""
    shards = tmp_path / "other"
    shards.mkdir()
    for s in range(4):
        write_tar(shards / f"{s:05d}.tar", [sample(10 * s + i, jpg=picture(1000 + 10 * s + i)) for i in range(6)])
    darkroom("score", place, "--head", "aesthetic", check=0)
    darkroom("filter", place, "--where", "aesthetic_score > 0", check=0)
    darkroom("dedup", place, "--clusters", 2, "--eps", 0.0001, check=0)
    assert darkroom("verify", place, check=0).stdout.count(" 0 disagree") == 6
    embed(shards, place, "--metadata", "--dtype", "f32", "--force-new-run")

    def refused(*words):
        r = export(shards, place, tmp_path / "out", check=7)
        assert all(w in r.stderr for w in words) and not (tmp_path / "out").exists(), r.stderr

    refused("keep_0.parquet was made from other embeddings", "run darkroom filter again")
    assert "scores_0.parquet was made from other embeddings than those here; run darkroom score again" in darkroom(
        "filter", place, "--where", "aesthetic_score > 0", check=7).stderr
    told = [json.loads(line) for line in darkroom("status", "--json", place, check=0).stdout.splitlines()]
    assert {t["product"]: t["bad"] for t in told} == {
        "embed": 0, "score": 4, "filter": 4, "dedup-clusters": 1, "dedup-pairs": 4, "dedup-eps": 1}
    darkroom("filter", place, "--where", "n >= 0", check=0)
    refused("removed.parquet was made from other embeddings", "run darkroom dedup again")
    darkroom("dedup", place, "--clusters", 2, "--eps", 0.0001, check=0)
    refused("scores_0.parquet was made from other embeddings", "run darkroom score again")
    darkroom("score", place, "--head", "aesthetic", check=0)
    export(shards, place, tmp_path / "out")
    darkroom("verify", place, check=0)


def test_verdicts_on_other_scores_are_refused(world, place, tmp_path):
    darkroom("score", place, "--head", "aesthetic", check=0)
    darkroom("filter", place, "--where", "aesthetic_score > 0", check=0)
    darkroom("score", place, "--head", "nsfw", check=0)
    assert "keep_0.parquet was made from other scores than those here; run darkroom filter" in export(
        world[0], place, tmp_path / "out", check=7).stderr
    darkroom("filter", place, "--where", "aesthetic_score > 0", check=0)
    export(world[0], place, tmp_path / "out")


def test_an_unfinished_dedup_is_refused(world, place, tmp_path):
    for task in ("0/2", "1/2"):
        darkroom("dedup", place, "--clusters", 2, "--eps", 0.01, "--task", task, check=0)
    assert "begun but not finished" in export(world[0], place, tmp_path / "out", check=4).stderr
    assert "begun but not finished" in darkroom("export", "--list", place, check=4).stderr
    darkroom("dedup", place, "--clusters", 2, "--eps", 0.01, "--dry-run", check=0)
    assert "--dry-run only" in export(world[0], place, tmp_path / "out").stderr
    assert len(keys(tmp_path / "out")) == 24


def test_dedup_removes(world, place, tmp_path):
    """The road itself: planted copies are gone from the shards."""
    shards = copy_of(world[0], tmp_path)
    again = [(f"9{k}", files) for k, files in world[2][1][:3]]
    write_tar(shards / "00004.tar", again)
    embed(shards, tmp_path / "p")
    darkroom("dedup", tmp_path / "p", "--clusters", 1, "--eps", 0.00001, check=0)
    r = export(shards, tmp_path / "p", tmp_path / "out")
    assert "24 of 27 rows are exported: filter dropped 0, dedup removed 3" in r.stderr
    pictures = [d for n, d in all_members(tmp_path / "out") if n.endswith(".jpg")]
    assert len(set(pictures)) == 24


def test_sidecars_of_another_length(world, place, tmp_path):
    """A score file of other rows, with a receipt that vouches for it."""
    (place / "scores").mkdir()
    f = write_run(place, "score", {"partitions": "4"})
    for p in range(4):
        pq.write_table(pa.table({"x_score": pa.array([1.0] * (6 if p else 5), pa.float32())}), place / f"scores/scores_{p}.parquet")
        write_receipt(place, "score", f"{p}.json", f, 6, [f"scores/scores_{p}.parquet"])
    assert "scores_0.parquet has 5 rows" in export(world[0], place, tmp_path / "out", check=4).stderr


def test_partitions_that_are_not_embedded(world, place, tmp_path):
    (place / "_darkroom/embed/1.json").unlink()
    r = export(world[0], place, tmp_path / "out", check=3)
    assert "1 partition is not embedded yet" in r.stderr
    assert all_members(tmp_path / "out") == want_members(world[2][0] + world[2][2] + world[2][3])


def test_a_place_that_cannot_be_written(world, place, tmp_path):
    """The note in PLACE is a courtesy."""
    (place / "export").write_text("a file where the folder should be")
    r = export(world[0], place, tmp_path / "out")
    assert "the place does not know of this export" in r.stderr
    assert len(all_members(tmp_path / "out")) == 72


def test_events(world, place, tmp_path):
    r = export(world[0], place, tmp_path / "out", "--samples-per-shard", 10, "--json", "--threads", 1)
    events = [json.loads(line) for line in r.stdout.splitlines()]
    assert [e["event"] for e in events] == ["start", "shard", "shard", "shard", "done"]
    assert events[0]["samples"] == 24 and events[-1]["shards_written"] == 3 and events[1]["samples"] == 10


# ---- memory ----

def peak(args):
    """Bytes; measured by a small parent, since a child inherits the peak of who started it."""
    code = ("import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
            "_, status, usage = os.wait4(pid, 0); print(usage.ru_maxrss * 1024); sys.exit(os.waitstatus_to_exitcode(status))")
    r = subprocess.run([sys.executable, "-c", code, str(DARKROOM), *map(str, args)], capture_output=True, text=True,
                       env=dict(os.environ, DARKROOM_HOME=str(ROOT)))
    assert r.returncode == 0, r.stderr
    return int(r.stdout.split()[-1])


@pytest.mark.skipif("asan" in str(DARKROOM) or "tsan" in str(DARKROOM), reason="sanitizers need memory of their own")
def test_memory_does_not_grow_with_the_shard(tmp_path):
    """A member of 100 MB, and as much in small ones, pass through a few megabytes."""
    (tmp_path / "s").mkdir()
    with tarfile.open(tmp_path / "s/0.tar", "w") as t:
        add(t, "big.jpg", b"x")
        info = tarfile.TarInfo("big.bin")
        info.size = 100 << 20
        t.addfile(info, open("/dev/zero", "rb"))
    many(tmp_path / "s/1.tar", [f"{i:05d}.jpg" for i in range(20_000)], b"x" * 5000)
    place = own_place(tmp_path / "place", tmp_path / "s", 2)
    used = peak(["export", tmp_path / "s", place, tmp_path / "out"])
    print(f"peak {used / 2**20:.0f} MiB for {sum(p.stat().st_size for p in (tmp_path / 's').iterdir()) / 2**20:.0f} MiB of shards")
    assert used < 64 << 20
    with tarfile.open(tmp_path / "out/00000.tar") as t:
        assert t.next().name == "big.jpg"
        big = t.next()
        assert big.name == "big.bin" and t.extractfile(big).read() == bytes(100 << 20)
