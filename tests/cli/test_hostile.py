"""What goes wrong around a run: closed descriptors, commands that do not end, limits, files that
say more than they may, receipts edited by hand, places taken over by another run."""
import gzip
import json
import os
import signal
import subprocess
import time

import pytest
from conftest import DARKROOM, ROOT, darkroom, picture, sample, tree, write_tar

ENV = dict(os.environ, DARKROOM_HOME=str(ROOT))


def embed(inp, place, *args, check=0, **kw):
    return darkroom("embed", inp, place, "--model", "tiny", *args, check=check, **kw)


def shell(command, timeout=60):
    return subprocess.run(["sh", "-c", command], env=ENV, timeout=timeout).returncode


def test_closed_descriptors_do_not_end_up_in_outputs(shards, tmp_path):
    write_tar(shards / "00003.tar", [(f"x{i}", {"jpg": b"no picture", "txt": b"x"}) for i in range(9)])
    place = tmp_path / "p"
    assert shell(f"'{DARKROOM}' embed '{shards}' '{place}' --model tiny -v <&- >&- 2>&-") == 3
    darkroom("verify", place, check=0)
    embed(shards, tmp_path / "q", check=3)
    assert tree(place) == tree(tmp_path / "q")
    assert shell(f"'{DARKROOM}' version >&- 2>/dev/null") == 5
    assert shell(f"'{DARKROOM}' version >/dev/full 2>/dev/null") == 5


STUBBORN = ["trap '' TERM; cat {0}; sleep 7; sleep 7",  # does not listen to SIGTERM
            "cat {0}; exec >&-; sleep 15"]              # ends its output, not itself


@pytest.mark.parametrize("command", [*STUBBORN, None])
def test_stops_while_an_input_hangs(shards, tmp_path, command):
    fifo = tmp_path / "f.tar"
    os.mkfifo(fifo)
    name = "pipe:" + command.format(shards / "00000.tar") if command else str(fifo)
    p = subprocess.Popen([str(DARKROOM), "embed", name, str(tmp_path / "p"), "--model", "tiny"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
    live = tmp_path / "p/_darkroom/embed/live/0.json"
    while not live.exists():
        time.sleep(0.05)
    time.sleep(0.3)
    p.send_signal(signal.SIGTERM)
    try:
        assert p.wait(timeout=12) == 75
    finally:
        p.kill()


def test_a_tiny_memory_limit_is_slow_not_stuck(shards, tmp_path):
    embed(shards, tmp_path / "p", "--memory", "1", timeout=60)


@pytest.mark.parametrize("args", [["--max-bad", "banana"], ["--max-bad", "-1"], ["--max-bad", "1%x"], ["--max-bad", "nan"],
                                  ["--image-size", "4294967520"], ["--threads", "4294967298"], ["--threads", "-1"],
                                  ["--num-prepro-workers", "99999999999"],
                                  ["--write-batch-size", "1", "--wds-number-file-per-input-file", "9000000000000000000"]])
def test_values_out_of_range_are_refused(shards, tmp_path, args):
    r = embed(shards, tmp_path / "p", *args, check=2)
    assert args[0] in r.stderr or "partitions" in r.stderr


def test_commands_in_config_files_need_a_typed_permission(shards, tmp_path):
    mark, config = tmp_path / "ran", tmp_path / "c.yaml"
    config.write_text(f"input-dataset: 'pipe:touch {mark}; cat {shards}/00000.tar'\nmodel: tiny\n")
    r = darkroom("embed", tmp_path / "p", "--config", config, check=2)
    assert "c.yaml:1" in r.stderr and "--allow-pipe" in r.stderr and not mark.exists()
    darkroom("embed", tmp_path / "p", "--config", config, "--allow-pipe", check=0)
    assert mark.exists()
    config.write_text("model: tiny\nallow_pipe: true\n")
    assert "c.yaml:2" in darkroom("embed", shards, tmp_path / "q", "--config", config, check=2).stderr


def test_a_list_with_nul_bytes_is_no_list(shards, tmp_path):
    (tmp_path / "l").write_bytes(f"{shards}/00000.tar\0\n{shards}/00001.tar\n".encode())
    assert "NUL" in embed(f"@{tmp_path}/l", tmp_path / "p", check=4).stderr


@pytest.mark.parametrize("change", [{"outputs": []}, {"rows": -1, "samples": 0}, {"rows": 4}, {"errors": {"corrupt": 3}}])
def test_receipts_whose_counts_do_not_close(shards, tmp_path, change):
    place, want = tmp_path / "p", None
    embed(shards, place)
    want = tree(place)
    receipt = place / "_darkroom/embed/1.json"
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), **change}))
    assert "do not close" in darkroom("verify", place, check=7).stderr
    embed(shards, place)
    assert tree(place) == want


def test_verify_says_when_partitions_are_missing(shards, tmp_path):
    embed(shards, tmp_path / "p", "--task", "0/2")
    r = darkroom("verify", tmp_path / "p", check=3)
    assert "1 missing" in r.stdout and "not whole" in r.stderr
    darkroom("status", tmp_path / "p", check=0)


@pytest.mark.parametrize("text", ["garbage", "", "[]", '{"format": 1}', '{"format": 1, "partitions": "99999999999"}'])
def test_a_broken_run_file_is_told(shards, tmp_path, text):
    place = tmp_path / "p"
    embed(shards, place)
    want = tree(place)
    (place / "_darkroom/embed/run.json").write_text(text)
    for verb in ("status", "verify"):
        assert "run.json" in darkroom(verb, place, check=7).stderr
    assert "--force-new-run" in embed(shards, place, check=7).stderr
    embed(shards, place, "--force-new-run")
    assert tree(place) == want


def test_a_forced_run_leaves_nothing_of_the_old_one(shards, tmp_path):
    embed(shards, tmp_path / "p")
    args = ["--output-partition-count", "12", "--enable-text", "false"]
    embed(shards, tmp_path / "p", *args, "--force-new-run")
    embed(shards, tmp_path / "q", *args)
    assert tree(tmp_path / "p") == tree(tmp_path / "q")


def test_force_takes_a_changed_source(shards, tmp_path):
    place = tmp_path / "p"
    embed(shards, place)
    write_tar(shards / "00001.tar", [sample(i) for i in range(30, 33)])
    assert "--force-new-run" in embed(shards, place, check=7).stderr
    embed(shards, place, "--force-new-run")
    embed(shards, tmp_path / "q")
    assert tree(place) == tree(tmp_path / "q")


def test_a_run_whose_place_was_taken_over_stops(shards, tmp_path):
    place, go = tmp_path / "p", tmp_path / "go"
    slow = f"pipe:while ! [ -e {go} ]; do sleep 0.1; done; cat {shards}/00000.tar"
    p = subprocess.Popen([str(DARKROOM), "embed", slow, str(place), "--model", "tiny"], env=ENV,
                         stderr=subprocess.PIPE, text=True)
    while not (place / "_darkroom/embed/run.json").exists():
        time.sleep(0.05)
    embed(shards / "00001.tar", place, "--force-new-run")
    want = tree(place)
    go.touch()
    err = p.communicate(timeout=60)[1]
    assert p.returncode == 7 and "taken this place over" in err
    assert tree(place) == want


def test_pictures_added_later_are_not_overlooked(tmp_path):
    d = tmp_path / "pics"
    d.mkdir()
    for i in range(3):
        (d / f"{i}.jpg").write_bytes(picture(i))
    embed(d, tmp_path / "p")
    assert "nothing to do" in embed(f"{d}/", tmp_path / "p").stderr  # the same folder, spelled otherwise
    (d / "9.jpg").write_bytes(picture(9))
    assert "added" in embed(d, tmp_path / "p", check=7).stderr


def test_file_urls_are_paths(shards, tmp_path):
    embed(shards / "00000.tar", tmp_path / "a")
    embed(f"file://{shards}/00000.tar", tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_names_cannot_drive_the_terminal(tmp_path):
    write_tar(tmp_path / "a.tar", [("k\x1b[31m\nnext", {"jpg": b"no", "txt": b"x"})])
    r = embed(tmp_path / "a.tar", tmp_path / "p", "-v", check=3)
    assert "\x1b" not in r.stderr and "k?[31m?next" in r.stderr
    name = tmp_path / 'quo"te.jpg'
    name.write_bytes(picture(1))
    assert json.loads(darkroom("inspect", name, "--json", check=0).stdout)["file"] == str(name)


def test_bad_samples_count_against_memory(tmp_path):
    body = os.urandom(30 << 20)  # read before the twin makes the sample bad
    write_tar(tmp_path / "big.tar", [(f"{i:03d}", {"png": body, "PNG": b"", "txt": b"x"}) for i in range(16)])
    pid = os.posix_spawn(DARKROOM, [str(DARKROOM), "embed", str(tmp_path / "big.tar"), str(tmp_path / "p"),
                                    "--model", "tiny", "-q"], ENV)
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert usage.ru_maxrss < 300 << 10  # KiB; all sixteen at once would be 480 MiB


def test_a_vocabulary_cut_short_is_refused(shards, tmp_path):
    whole = gzip.decompress((ROOT / "models/tiny/vocab.txt.gz").read_bytes())
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(b"\n".join(whole.split(b"\n")[:200])))
    r = embed(shards, tmp_path / "p", "--vocab", tmp_path / "v.txt.gz", check=2)
    assert "v.txt.gz" in r.stderr and "cut short" in r.stderr
    (tmp_path / "w.txt.gz").write_bytes((ROOT / "models/tiny/vocab.txt.gz").read_bytes()[:700])
    embed(shards, tmp_path / "p", "--vocab", tmp_path / "w.txt.gz", check=4)


def test_a_slip_in_the_pattern_does_not_claim_the_place(shards, tmp_path):
    r = embed(f"{tmp_path}/shrads/{{00000..00002}}.tar", tmp_path / "p", check=4)
    assert "none of the 3 shards" in r.stderr and "shrads/00000.tar" in r.stderr
    assert not (tmp_path / "p").exists()
    assert "pipe:" in embed("s3://bucket/{0..1}.tar", tmp_path / "p", check=2).stderr
    embed(shards, tmp_path / "p")
