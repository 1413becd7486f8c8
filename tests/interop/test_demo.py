"""The demo shards hold what planted.json says, told by Python's tarfile and Pillow alone."""
import collections
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import PIL
import pytest
from PIL import Image

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMO = os.path.join(ROOT, "demo")
SHARDS = ("00000", "00001", "00002")
PICTURES = ("jpg", "png", "webp", "gif")


def members(path):
    with tarfile.open(path) as tar:
        return [(m, tar.extractfile(m).read()) for m in tar]


@pytest.fixture(scope="module")
def planted():
    with open(os.path.join(DEMO, "planted.json")) as f:
        return json.load(f)


@pytest.fixture(scope="module")
def samples():
    """key -> [(extension, bytes)] over the three shards."""
    out = collections.defaultdict(list)
    for shard in SHARDS:
        for m, data in members(os.path.join(DEMO, shard + ".tar")):
            key, ext = m.name.split(".")
            assert key.startswith(shard) and len(key) == 9
            out[key].append((ext, data))
    return out


def picture(sample):
    return next(data for ext, data in sample if ext in PICTURES)


def whole(sample):
    """The reason Pillow or json has against a sample, or None."""
    names = [ext for ext, _ in sample]
    files = dict(sample)
    if len(files) < len(names):
        return "duplicate_member"
    if not any(n in PICTURES for n in names):
        return "missing_image"
    if "txt" not in files:
        return "missing_caption"
    try:
        json.loads(files["json"])
    except ValueError:
        return "bad_json"
    if not picture(sample):
        return "empty"
    try:
        Image.open(io.BytesIO(picture(sample))).load()
    except Image.DecompressionBombError:
        return "too_large"
    except Image.UnidentifiedImageError:
        return "unsupported"
    except OSError:
        return "unreadable"
    return None


def test_every_sample_is_as_planted(planted, samples):
    bad = {r["key"]: r["status"] for r in planted["planted"]
           if r["status"] not in ("ok", "non_adjacent")}
    # Pillow cannot tell these two apart, and reads over bad Huffman codes
    alike = {"truncated": "unreadable", "corrupt": "unreadable"}
    seen = 0
    for key, sample in samples.items():
        want = bad.get(key)
        got = whole(sample)
        if want == "corrupt" and got is None:
            assert b"\xff\x00" * 100 in picture(sample)
        else:
            assert got == alike.get(want, want), key
        seen += 1
    stray = sum(r["status"] == "non_adjacent" for r in planted["planted"])
    total = planted["total"]
    assert total["samples"] == seen + stray == total["rows"] + sum(total["errors"].values())
    assert collections.Counter(bad.values()) + collections.Counter(non_adjacent=stray) == \
        collections.Counter(total["errors"])
    assert len(SHARDS) * 90 == seen


def test_shard_tallies_add_up(planted):
    shards = planted["shards"].values()
    for field in ("samples", "rows"):
        assert sum(s[field] for s in shards) == planted["total"][field]


def test_stray_member_stands_far_from_its_sample(planted):
    row = next(r for r in planted["planted"] if r["status"] == "non_adjacent")
    names = [m.name for m, _ in members(os.path.join(DEMO, row["key"][:5] + ".tar"))]
    at = [i for i, n in enumerate(names) if n.startswith(row["key"])]
    assert at[:3] == [at[0], at[0] + 1, at[0] + 2] and at[3] > at[2] + 100


def test_exact_duplicates_have_the_same_bytes_and_no_others_have(planted, samples):
    copies = {r["key"]: r["of"] for r in planted["planted"] if r["what"] == "exact duplicate"}
    assert len(copies) == planted["exact_duplicates"]
    for key, of in copies.items():
        assert picture(samples[key]) == picture(samples[of])
    groups = collections.defaultdict(list)
    for key, sample in samples.items():
        for data in {d for e, d in sample if e in PICTURES}:
            groups[hashlib.sha256(data).digest()].append(key)
    assert sum(len(g) - 1 for g in groups.values()) == len(copies)


def test_near_duplicates_look_alike_but_differ_in_bytes(planted, samples):
    pairs = [(r["key"], r["of"]) for r in planted["planted"] if r["what"] == "near duplicate"]
    assert len(pairs) == planted["near_duplicates"]
    for key, of in pairs:
        a, b = (np.asarray(Image.open(io.BytesIO(picture(samples[k]))).convert("RGB")
                           .resize((32, 32), Image.BILINEAR), float) for k in (key, of))
        assert picture(samples[key]) != picture(samples[of])
        assert 0 < np.abs(a - b).mean() < 16, (key, of)


def test_wrong_extensions_are_other_formats(planted, samples):
    rows = [r for r in planted["planted"] if r["what"] == "wrong extension"]
    assert len(rows) == planted["wrong_extensions"]
    for r in rows:
        ext = next(e for e, _ in samples[r["key"]] if e in PICTURES)
        kind = Image.open(io.BytesIO(picture(samples[r["key"]]))).format
        assert {"jpg": "JPEG", "png": "PNG"}[ext] != kind


def test_formats_sizes_and_json_are_varied(samples):
    seen, short, fields = set(), set(), collections.defaultdict(set)
    for key, sample in samples.items():
        if whole(sample):
            continue
        image = Image.open(io.BytesIO(picture(sample)))
        seen.add((image.format, image.mode, bool(image.info.get("progressive"))))
        short.add(min(image.size))
        for name, value in json.loads(dict(sample)["json"]).items():
            fields[name].add(type(value))
    assert {("JPEG", "RGB", False), ("JPEG", "RGB", True), ("JPEG", "L", False),
            ("JPEG", "CMYK", False), ("PNG", "RGB", False), ("PNG", "P", False),
            ("PNG", "RGBA", False), ("PNG", "I;16", False), ("WEBP", "RGB", False)} <= seen
    assert min(short) == 96 and max(short) > 300
    assert fields["similarity"] == {int, float} and fields["scene"] == {dict}
    assert fields["tags"] == {list}


def test_cut_tar_ends_inside_a_member(planted):
    want = planted["damaged"]["00003"]
    path = os.path.join(DEMO, "damaged", "00003.tar")
    assert os.path.getsize(path) == want["cut_at"]
    with pytest.raises(tarfile.ReadError):
        members(path)
    with tarfile.open(path) as tar:
        keys = {tar.next().name.split(".")[0] for _ in range(3 * want["rows"])}
        cut = tar.next()
    assert len(keys) == want["rows"] and cut.name.split(".")[0] not in keys
    assert cut.offset_data < want["cut_at"] < cut.offset_data + cut.size


def test_nothing_of_the_maker_is_inside():
    size = 0
    for shard in SHARDS:
        path = os.path.join(DEMO, shard + ".tar")
        size += os.path.getsize(path)
        for m, _ in members(path):
            assert (m.mtime, m.uid, m.gid, m.uname) == (0, 0, 0, "bigdata")
    assert size < 3_000_000


def test_recipe_gives_the_same_bytes(planted, tmp_path):
    if PIL.__version__ != planted["pillow"]:
        pytest.skip(f"made with Pillow {planted['pillow']}, this is {PIL.__version__}")
    tool = os.path.join(ROOT, "tools", "tiny", "demo.py")
    subprocess.run([sys.executable, tool, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    for name in [s + ".tar" for s in SHARDS] + ["planted.json", "README.md", "damaged/00003.tar"]:
        with open(os.path.join(DEMO, name), "rb") as a, open(tmp_path / name, "rb") as b:
            assert a.read() == b.read(), name
