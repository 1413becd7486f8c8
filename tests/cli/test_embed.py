"""embed from end to end with the built-in model: layout, counts, exit codes, resume, bad input."""
import json
import shutil
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import DARKROOM, darkroom, picture, sample, tree, write_tar


def embed(inp, place, *args, check=0, **kw):
    return darkroom("embed", inp, place, "--model", "tiny", *args, check=check, **kw)


def rows(place, name):
    return pq.read_table(place / name).to_pydict()


def test_layout_and_rows(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place, "--metadata")
    for p, n in enumerate((7, 5, 6)):
        img = np.load(place / f"img_emb/img_emb_{p}.npy")
        txt = np.load(place / f"text_emb/text_emb_{p}.npy")
        meta = rows(place, f"metadata/metadata_{p}.parquet")
        assert img.dtype == np.float16 and img.shape == txt.shape and img.shape[0] == n
        assert np.allclose(np.linalg.norm(img.astype(np.float32), axis=1), 1, atol=2e-3)
        assert list(meta)[:6] == ["image_path", "caption", "shard", "key", "width", "height"]
        assert meta["shard"] == [f"{p:05d}.tar"] * n and meta["image_path"] == meta["key"]
        assert meta["n"] == sorted(meta["n"]) and isinstance(meta["score"][0], float)
        assert rows(place, f"errors/errors_{p}.parquet")["key"] == []
        receipt = json.loads((place / f"_darkroom/embed/{p}.json").read_text())
        assert receipt["rows"] == receipt["samples"] == n


def test_same_command_again_does_nothing(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    before = {p: p.stat().st_mtime_ns for p in place.rglob("*") if p.is_file()}
    r = embed(shards, place)
    assert "nothing to do" in r.stderr
    assert before == {p: p.stat().st_mtime_ns for p in place.rglob("*") if p.is_file()}


@pytest.mark.parametrize("args", [["--threads", "1"], ["--threads", "3", "--batch-size", "1"], ["--batch-size", "3"],
                                  ["--num-prepro-workers", "5"], ["--memory", "64M"]])
def test_bytes_do_not_depend_on_threads_or_batch(shards, tmp_path, args):
    embed(shards, tmp_path / "a", "--metadata")
    embed(shards, tmp_path / "b", "--metadata", *args)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_tasks_in_any_order_equal_one_run(shards, tmp_path):
    embed(shards, tmp_path / "one")
    for i in (2, 0, 3, 1):
        embed(shards, tmp_path / "many", "--task", f"{i}/4")
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


def test_machines_of_another_kind_share_one_run(shards, tmp_path):
    """Every instruction set gives the same bytes, so tasks may run on any of them."""
    embed(shards, tmp_path / "one")
    for i, isa in enumerate(("plain", "avx2", "avx512")):
        embed(shards, tmp_path / "mixed", "--task", f"{i}/3", env={"DARKROOM_ISA": isa})
    assert tree(tmp_path / "one") == tree(tmp_path / "mixed")


def test_write_batch_size_strides_shards(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place, "--write-batch-size", 20000)  # 3 shards x 10000 / 20000 -> 2 partitions
    assert rows(place, "metadata/metadata_0.parquet")["shard"] == ["00000.tar"] * 7 + ["00002.tar"] * 6
    assert rows(place, "metadata/metadata_1.parquet")["shard"] == ["00001.tar"] * 5


def test_python_fire_spelling(shards, tmp_path):
    embed(shards, tmp_path / "p", "--enable_text=False", "--enable_metadata=True", "--batch_size=2",
          "--input_format=webdataset", "--output_partition_count=10", "--dtype=f32", "--normalize=false")
    assert not (tmp_path / "p/text_emb").exists()
    assert np.load(tmp_path / "p/img_emb/img_emb_00.npy").dtype == np.float32


def test_another_run_is_refused(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    r = embed(shards, place, "--dtype", "f32", check=7)
    assert "dtype was 'f16', now 'f32'" in r.stderr
    embed(shards, place, "--dtype", "f32", "--force-new-run")
    assert np.load(place / "img_emb/img_emb_0.npy").dtype == np.float32
    darkroom("verify", place, check=0)


def test_changed_source_is_stale(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    write_tar(shards / "00001.tar", [sample(100 + i) for i in range(9)])
    assert "00001.tar" in embed(shards, place, check=7).stderr


def test_bad_samples_become_rows(tmp_path):
    good = picture(1, 300, 200)
    png = picture(2, 64, 64, "PNG")
    write_tar(tmp_path / "bad.tar", [
        sample(0), ("trunc", {"jpg": good[:len(good) // 2], "txt": b"x"}), ("empty", {"jpg": b"", "txt": b"x"}),
        ("noise", {"jpg": b"not a picture at all", "txt": b"x"}), ("nocap", {"jpg": good}), ("noimg", {"txt": b"x"}),
        ("json", {"jpg": good, "txt": b"x", "json": b"{\"a\": }"}), ("ext", {"jpg": png, "txt": b"a png named jpg"}), sample(1)])
    place = tmp_path / "place"
    r = embed(tmp_path / "bad.tar", place, "--metadata", check=3)
    e = rows(place, "errors/errors_0.parquet")
    assert dict(zip(e["key"], e["status"])) == {"trunc": "truncated", "empty": "empty", "noise": "unsupported",
                                                "nocap": "missing_caption", "noimg": "missing_image", "json": "bad_json"}
    assert rows(place, "metadata/metadata_0.parquet")["key"] == ["000000000", "ext", "000000001"]
    assert "9 samples = 3 rows + 6 bad" in r.stderr
    embed(tmp_path / "bad.tar", tmp_path / "p2", "--metadata", "--max-bad", "6")
    assert not any("/" in m for m in e["message"])


def test_missing_shard_is_tried_again(shards, tmp_path):
    place = tmp_path / "place"
    (shards / "00001.tar").rename(tmp_path / "away.tar")
    pattern = str(shards) + "/{00000..00002}.tar"
    r = embed(pattern, place, check=3)
    assert "00001.tar" in r.stderr
    assert rows(place, "errors/errors_1.parquet")["status"] == ["shard_missing"]
    assert not (place / "_darkroom/embed/1.json").exists()
    (tmp_path / "away.tar").rename(shards / "00001.tar")
    embed(pattern, place)
    embed(pattern, tmp_path / "undisturbed")
    assert tree(place) == tree(tmp_path / "undisturbed")


def test_all_shards_missing(tmp_path):
    assert darkroom("embed", str(tmp_path) + "/{0..3}.tar", tmp_path / "p", "--model", "tiny").returncode == 4


@pytest.mark.parametrize("cut", [1, 300, 512, 5000, -600, -10240])
def test_cut_tar_is_reported(shards, tmp_path, cut):
    data = (shards / "00000.tar").read_bytes()
    (shards / "00000.tar").write_bytes(data[:cut])
    place = tmp_path / "place"
    embed(shards, place, check=3)
    e = rows(place, "errors/errors_0.parquet")
    assert e["status"][-1] == "tar_damaged" and e["key"][-1] == ""
    r = json.loads((place / "_darkroom/embed/0.json").read_text())
    assert r["samples"] == r["rows"] + sum(r["errors"].values())


def test_empty_tar(tmp_path):
    write_tar(tmp_path / "e.tar", [])
    embed(tmp_path / "e.tar", tmp_path / "p")
    assert not (tmp_path / "p/img_emb").exists()
    assert json.loads((tmp_path / "p/_darkroom/embed/0.json").read_text())["rows"] == 0


def test_pipe(shards, tmp_path):
    embed(f"pipe:cat {shards}/{{00000..00002}}.tar", tmp_path / "piped")
    embed(shards, tmp_path / "plain")
    for p in range(3):
        assert (tmp_path / f"piped/img_emb/img_emb_{p}.npy").read_bytes() == (tmp_path / f"plain/img_emb/img_emb_{p}.npy").read_bytes()


def test_pipe_that_fails_leaves_partition_undone(shards, tmp_path):
    flag = tmp_path / "ok"
    cmd = f"pipe:cat {shards}/{{00000..00002}}.tar; test -e {flag}"
    place = tmp_path / "place"
    r = embed(cmd, place, check=3)
    assert "ended with status 1" in r.stderr
    assert not list((place / "_darkroom/embed").glob("[0-9]*.json")) and not (place / "img_emb").exists() or not list((place / "img_emb").iterdir())
    flag.touch()
    embed(cmd, place)
    assert np.load(place / "img_emb/img_emb_0.npy").shape[0] == 7


def test_folder_of_pictures(tmp_path):
    d = tmp_path / "pictures"
    (d / "deep").mkdir(parents=True)
    for i in range(5):
        p = d / ("deep" if i % 2 else ".") / f"{i}.png"
        p.write_bytes(picture(i, fmt="PNG"))
        p.with_suffix(".txt").write_text(f"caption {i}")
    (d / "notes.md").write_text("not a picture")
    place = tmp_path / "place"
    embed(d, place)
    m = rows(place, "metadata/metadata_0.parquet")
    assert len(m["key"]) == 5 and all(p.endswith(".png") for p in m["image_path"])
    assert np.load(place / "text_emb/text_emb_0.npy").shape[0] == 5


def test_folder_without_captions_turns_text_off(tmp_path):
    d = tmp_path / "pictures"
    d.mkdir()
    (d / "a.webp").write_bytes(picture(3, fmt="WEBP"))
    r = embed(d, tmp_path / "place")
    assert "text is off" in r.stderr and not (tmp_path / "place/text_emb").exists()
    assert darkroom("embed", tmp_path / "shards-that-are-not", tmp_path / "p2", "--model", "tiny").returncode == 4


@pytest.mark.parametrize("args,code,word", [
    (["embed"], 2, "INPUT"), (["embde"], 2, "embed"), (["embed", "a", "b", "--batch-siz", "3"], 2, "batch-size"),
    (["embed", "a", "b", "--batch-size", "three"], 2, "whole number"), (["embed", "a", "b", "--task", "4/4"], 2, "--task"),
    (["status", "/nonexistent"], 4, "no such folder"), (["inspect", "/nonexistent.jpg"], 4, "nonexistent")])
def test_usage(args, code, word):
    r = darkroom(*args)
    assert r.returncode == code and word in r.stderr, r.stderr


def test_unknown_model_names_the_nearest(shards, tmp_path):
    r = darkroom("embed", shards, tmp_path / "p", "--model", "ViT-B/14", check=2)
    assert "ViT-B/16" in r.stderr or "ViT-B/32" in r.stderr or "ViT-L/14" in r.stderr
    r = darkroom("embed", shards, tmp_path / "p", "--model", "ViT-L/14", env={"HOME": str(tmp_path)}, check=4)
    assert "tiny" in r.stderr


def test_status_verify_gc(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    assert "3 of 3 partitions done" in darkroom("status", place, check=0).stdout
    assert json.loads(darkroom("status", "--json", place, check=0).stdout)["rows"] == 18
    darkroom("verify", place, check=0)
    f = place / "img_emb/img_emb_1.npy"
    data = bytearray(f.read_bytes())
    data[-1] ^= 1
    f.write_bytes(data)
    assert "img_emb_1.npy" in darkroom("verify", place, check=7).stderr
    (place / "img_emb/img_emb_9.npy.nohost.1.tmp").write_bytes(b"x")
    import os
    os.utime(place / "img_emb/img_emb_9.npy.nohost.1.tmp", (1, 1))
    assert "1 leftover" in darkroom("gc", place, check=0).stdout


def test_config_file(shards, tmp_path):
    (tmp_path / "c.yaml").write_text("model: tiny\ndtype: f32\nenable_text: false\n")
    darkroom("embed", shards, tmp_path / "p", "--config", tmp_path / "c.yaml", check=0)
    assert np.load(tmp_path / "p/img_emb/img_emb_0.npy").dtype == np.float32
    (tmp_path / "bad.yaml").write_text("model: tiny\nbach_size: 3\n")
    r = darkroom("embed", shards, tmp_path / "p2", "--config", tmp_path / "bad.yaml", check=2)
    assert "bad.yaml:2" in r.stderr and "batch-size" in r.stderr


def test_json_events(shards, tmp_path):
    r = embed(shards, tmp_path / "p", "--json")
    events = [json.loads(l) for l in r.stdout.splitlines()]
    assert [e["event"] for e in events].count("partition") == 3 and events[-1]["event"] == "done" and events[-1]["rows"] == 18


def test_read_only_place(shards, tmp_path):
    f = tmp_path / "file"
    f.write_text("x")
    assert darkroom("embed", shards, f, "--model", "tiny").returncode == 2
    assert darkroom("embed", shards, "/proc/nowhere/p", "--model", "tiny").returncode == 5


def test_stop_by_signal_is_resumable(shards, tmp_path):
    import signal
    import time
    cmd = f"pipe:cat {shards}/{{00000..00002}}.tar; sleep 30"
    p = subprocess.Popen([str(DARKROOM), "embed", cmd, str(tmp_path / "p"), "--model", "tiny"], stderr=subprocess.PIPE,
                         env={**__import__("os").environ, "DARKROOM_HOME": str(DARKROOM.parent.parent)})
    time.sleep(2)
    p.send_signal(signal.SIGTERM)
    t = time.time()
    assert p.wait(timeout=20) == 75, p.stderr.read()
    assert time.time() - t < 20
    assert not list((tmp_path / "p").rglob("*.tmp"))


def pictures(d, n):
    d.mkdir(exist_ok=True)
    for i in range(n):
        (d / f"{i}.jpg").write_bytes(picture(i))
    return d


def test_a_changed_folder_is_another_run(tmp_path):
    d = pictures(tmp_path / "pics", 4)
    embed(d, tmp_path / "p")
    assert "nothing to do" in embed(d, tmp_path / "p").stderr
    (d / "9.jpg").write_bytes(picture(9))
    assert "pictures was '4', now '5'" in embed(d, tmp_path / "p", check=7).stderr
    (d / "9.jpg").unlink()
    (d / "1.jpg").write_bytes(picture(77, 200, 100))
    embed(d, tmp_path / "p", check=7)


def test_folders_split_into_tasks(tmp_path):
    d = pictures(tmp_path / "pics", 9)
    embed(d, tmp_path / "one", "--write-batch-size", 2)
    for i in (1, 0):
        embed(d, tmp_path / "two", "--write-batch-size", 2, "--task", f"{i}/2")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    keys = sorted(k for p in range(5) for k in rows(tmp_path / "one", f"metadata/metadata_{p}.parquet")["key"])
    assert keys == [str(i) for i in range(9)]


def test_a_new_run_takes_the_old_outputs_away(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    (shards / "00002.tar").unlink()
    embed(shards, place, "--enable-text", "false", "--force-new-run")
    assert sorted(f.name for f in place.glob("*_emb/*")) == ["img_emb_0.npy", "img_emb_1.npy"]
    assert len(list((place / "metadata").iterdir())) == len(list((place / "errors").iterdir())) == 2


def test_foreign_embeddings_are_not_overwritten(shards, tmp_path):
    place = tmp_path / "place"
    (place / "img_emb").mkdir(parents=True)
    (place / "img_emb/img_emb_0.npy").write_bytes(b"someone else's")
    assert "was not made by darkroom" in embed(shards, place, check=7).stderr
    assert (place / "img_emb/img_emb_0.npy").read_bytes() == b"someone else's"


def test_other_storage_is_named(shards, tmp_path):
    assert "local folders only" in embed(shards, "s3://bucket/x", check=2, cwd=tmp_path).stderr
    assert not list(tmp_path.glob("s3:*"))
    assert "pipe:aws s3 cp" in embed("s3://bucket/{000..009}.tar", tmp_path / "p", check=2).stderr


def test_a_wrong_word_makes_no_place(shards, tmp_path):
    embed(tmp_path / "nowhere", tmp_path / "p", check=4)
    darkroom("embed", shards, tmp_path / "p", "--model", "nothere.pt", check=4)
    assert not (tmp_path / "p").exists()


def test_verify_drop_heals(shards, tmp_path):
    place = tmp_path / "place"
    embed(shards, place)
    want = tree(place)
    f = place / "img_emb/img_emb_1.npy"
    f.write_bytes(f.read_bytes()[:-1] + b"\x7f")
    assert "--drop" in darkroom("verify", place, check=7).stderr
    darkroom("verify", "--drop", place, check=3)
    darkroom("verify", place, check=3)  # one is missing now
    embed(shards, place)
    darkroom("verify", place, check=0)
    assert tree(place) == want


def test_a_receipt_cannot_name_files_outside(shards, tmp_path):
    place, victim = tmp_path / "place", tmp_path / "victim"
    embed(shards, place)
    victim.write_text("precious")
    r = place / "_darkroom/embed/0.json"
    r.write_text(r.read_text().replace("img_emb/img_emb_0.npy", "../victim"))
    embed(shards, place, "--dtype", "f32", "--force-new-run")
    assert victim.read_text() == "precious"


def test_none_means_not_given(shards, tmp_path):
    embed(shards, tmp_path / "p", "--output_partition_count=None", "--wds_image_key=None")
    assert len(list((tmp_path / "p/img_emb").iterdir())) == 3


def test_exit_3_gives_its_reason(tmp_path):
    write_tar(tmp_path / "bad.tar", [sample(0), ("x", {"jpg": b"no", "txt": b"x"})])
    r = embed(tmp_path / "bad.tar", tmp_path / "p", "-q", check=3)
    assert "1 of 2 samples are bad, more than --max-bad 1%" in r.stderr and "/errors" in r.stderr


def test_commands_leave_no_secret_behind(shards, tmp_path):
    def run(token):
        return embed(f"pipe:TOKEN={token} cat {shards}/{{00000..00002}}.tar", tmp_path / "p")
    run("canary-one")
    for f in (tmp_path / "p").rglob("*"):
        assert f.is_dir() or b"canary" not in f.read_bytes(), f
    assert rows(tmp_path / "p", "metadata/metadata_1.parquet")["shard"][0] == "00001.tar"
    assert "nothing to do" in run("canary-two").stderr  # a fresh token is the same run
