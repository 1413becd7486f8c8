"""report: the numbers of places made by hand must stand on the page; text of others stays text; what is
missing is told; nothing is fetched."""
import json
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import darkroom, picture, sample, tree, write_tar
from places import Place
from planted import Planted

class Page(HTMLParser):
    """Everything on a page: elements with attributes, text, and the numbers for programs."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.source = path.read_bytes().decode("utf-8")  # strict: the page is UTF-8
        self.elements, self.text, self.open, self.data = [], [], [], None
        self.feed(self.source)
        self.close()
        self.words = re.sub(r"\s+", " ", " ".join(self.text))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input", "br", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data = json.loads(data)
        elif not self.open or self.open[-1] != "style":
            self.text.append(data)

    def of(self, tag):
        return [a for t, a in self.elements if t == tag]

    def has(self, text):
        return text in self.words


def report(place, *args, check=0, out=None):
    out = out or place.parent / "report.html"
    r = darkroom("report", place, "-o", out, *args, check=check)
    if check:
        return r
    page = Page(out)
    assert not page.open, "elements left open"
    assert_harmless(page)
    return page


def assert_harmless(page):
    for tag, attrs in page.elements:
        assert not [a for a in attrs if a.startswith("on") or a == "style"], (tag, attrs)
        if tag == "script":
            assert attrs == {"type": "application/json", "id": "report-data"}
        assert tag not in ("iframe", "object", "embed", "form", "base", "style") or tag == "style"
        for a in ("src", "href"):
            assert re.match(r"data:|#", attrs.get(a, "#")), (tag, attrs)
    assert len(page.of("style")) == 1 and len(page.of("script")) == 1
    assert not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\0\ufffe]", page.source)
    policy = next(a["content"] for a in page.of("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-") and "unsafe" not in policy


def count(n):
    return f"{n:,}"


# ---- places made by embed ----

def test_embed_only(shards, tmp_path):
    place = tmp_path / "place"
    darkroom("embed", shards, place, "--model", "tiny", check=0)
    before = tree(place)
    page = report(place)
    assert tree(place) == before
    assert page.data["seen"] == page.data["rows"] == 18 and page.data["partitions"] == 3 and page.data["errors"] == {}
    for verb in ("score", "filter", "dedup", "export SHARDS"):
        assert page.has(f"darkroom {verb} {place}"), verb
    assert page.has("there are no errors") and page.has("embed") and page.data["times"]["embed"]["samples"] == 18


def test_default_output_is_in_the_place(shards, tmp_path):
    darkroom("embed", shards, tmp_path / "place", "--model", "tiny", check=0)
    r = darkroom("report", tmp_path / "place", "--json", check=0)
    assert (tmp_path / "place/report.html").exists()
    done = json.loads(r.stdout)
    assert done["report"] == str(tmp_path / "place/report.html") and done["rows"] == 18
    darkroom("verify", tmp_path / "place", check=0)


def test_errors_are_counted_and_shown(tmp_path):
    d = tmp_path / "shards"
    d.mkdir()
    bad = [sample(i, jpg=b"no picture") for i in range(7)] + [sample(i, jpg=picture(i)[:-300]) for i in range(20, 22)]
    write_tar(d / "00000.tar", [sample(i) for i in range(100, 105)] + bad + [("tail<b>", {"txt": b"x"})])
    place = tmp_path / "place"
    darkroom("embed", d, place, "--model", "tiny", check=3)
    page = report(place)
    assert page.data["errors"] == {"unsupported": 7, "truncated": 2, "missing_image": 1}
    assert page.data["seen"] == 15 and page.data["rows"] == 5
    assert page.has("unsupported, 7 in all, the first 5") and page.has("000000004") and not page.has("000000005 ")
    assert page.has("tail<b>") and page.has("the JPEG data ends too early")


def test_nothing_but_errors(tmp_path):
    d = tmp_path / "shards"
    d.mkdir()
    write_tar(d / "00000.tar", [sample(0, jpg=b"")])
    place = tmp_path / "place"
    darkroom("embed", d, place, "--model", "tiny", check=3)
    page = report(place)
    assert page.data["seen"] == 1 and page.data["rows"] == 0 and page.data["errors"] == {"empty": 1}


def test_not_a_place(tmp_path):
    (tmp_path / "empty").mkdir()
    r = report(tmp_path / "empty", check=4)
    assert "holds no embeddings" in r.stderr and not (tmp_path / "report.html").exists()
    report(tmp_path / "nowhere", check=4)
    assert "report takes one PLACE" in darkroom("report", check=2).stderr
    assert "--pictures" in darkroom("report", tmp_path, "--pictures", 500, check=2).stderr


def test_output_that_cannot_be_written(shards, tmp_path):
    darkroom("embed", shards, tmp_path / "place", "--model", "tiny", check=0)
    report(tmp_path / "place", check=5, out=tmp_path / "no/such/folder/r.html")
    (tmp_path / "r.html").mkdir()
    report(tmp_path / "place", check=5, out=tmp_path / "r.html")


# ---- a place with everything, every number known ----

@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    d = tmp_path_factory.mktemp("planted")
    return Planted(d / "place", d / "shards")


@pytest.fixture(scope="module")
def page(planted):
    return report(planted.place.path)


def test_funnel(planted, page):
    d, n = page.data, 600
    left = int((planted.keep & ~planted.removed).sum())
    assert (d["seen"], d["rows"], d["errors"]) == (604, n, {"corrupt": 4})
    assert d["kept"] == int(planted.keep.sum()) and d["left"] == left and d["removed"] == int(planted.removed.sum())
    assert [(r["rule"], r["dropped"]) for r in d["rules"]] == list(zip(planted.rules, planted.dropped))
    assert d["quarantined"] == 1 and page.has("1 was set aside")
    for rule, dropped in zip(planted.rules, planted.dropped):
        assert page.has(f"{rule} \u2212{count(dropped)}")
    assert page.has(f"passed the filter {count(d['kept'])}") and page.has(f"left without duplicates {count(left)}")


def test_histograms(planted, page):
    for name, values, t, passing in (("aesthetic_score", planted.a, 5.25, planted.a >= 5.25), ("nsfw_score", planted.s, .2, planted.s < .2),
                                     ("width", planted.w.astype(np.float32), 256, planted.w >= 256)):
        s, v = page.data["scores"][name], values[~np.isnan(values)].astype(np.float64)
        assert s["values"] == len(v) and s["nulls"] == 600 - len(v) and s["threshold"] == pytest.approx(t)
        assert s["min"] == pytest.approx(v.min()) and s["max"] == pytest.approx(v.max()) and s["mean"] == pytest.approx(v.mean())
        assert s["passing"] == int(passing.sum())
        edges = s["from"] + s["width"] * np.arange(len(s["counts"]) + 1)
        assert sum(s["counts"]) == len(v) - s["under"] - s["over"] and s["under"] + s["over"] <= 2
        # the same bins by numpy, but for values that lie on an edge
        assert np.abs(np.histogram(v, edges)[0] - s["counts"]).sum() <= 4
    assert len([a for a in page.of("line") if a.get("class") == "cut"]) == 4  # three rules and eps


def strip_keys(page, title):
    """Keys of the pictures that follow a title."""
    part = page.source.split(f'<p class="side">{title}</p>', 1)[1].split("</div>\n<p", 1)[0].split("</div>\n</div>", 1)[0]
    return re.findall(r'<bdi class="key">([^<]*)</bdi>', part)


def test_samples_at_the_threshold(planted, page):
    v = planted.a.astype(np.float64)
    passing = np.argsort(np.where(v >= 5.25, v - 5.25, np.inf), kind="stable")[:8]
    failing = np.argsort(np.where(v < 5.25, 5.25 - v, np.inf), kind="stable")[:8][::-1]
    assert strip_keys(page, "just above: passes")[:8] == list(planted.keys[passing])
    assert strip_keys(page, "just below: dropped")[:8] == list(planted.keys[failing])


def test_groups(planted, page):
    assert page.data["groups"][:2] == [40, 30]  # a chain is one group, however long
    assert page.data["group_count"] == 2
    part = page.source.split('<h3>40 pictures</h3>')[1].split('<h3>30 pictures</h3>')[0]
    figures = part.split("<figure")[1:]
    assert 'class="kept"' in figures[0] and ">000000</bdi>" in figures[0] and "badge" in figures[0] and len(figures) == 8
    keys = re.findall(r'class="key">(\d+)<', part)
    assert keys[1:] == ["000001", "000002", "000003"] + ["000036", "000037", "000038", "000039"]  # the most and the least similar
    x = planted.images
    for key, value in zip(keys[1:], re.findall(r"<b>([\d.]+)</b>", part)):
        i = int(key)
        assert float(value) == pytest.approx(x[0] @ x[i] / np.linalg.norm(x[0]) / np.linalg.norm(x[i]), abs=6e-5)


def test_pairs_at_the_threshold(planted, page):
    stayed = strip_keys(page, "just not similar enough: both stayed")
    gone = strip_keys(page, "just similar enough: the second was removed")
    order = np.argsort(np.where(planted.removed, np.inf, 0.95 - planted.score.astype(np.float64)), kind="stable")[:6]
    assert stayed == [k for i in order for k in (planted.max_id[i], planted.keys[i])]
    assert gone[1::2] == list(planted.keys[np.argsort(np.where(planted.removed, planted.score.astype(np.float64) - .95, np.inf), kind="stable")[:6]])


def test_clusters_and_eps(planted, page):
    assert page.data["clusters"] == 5 and page.data["largest_cluster"] == 400 - 1 - 1  # one is alone, one quarantined
    assert "<title>1 of size 1</title>" in page.source and "<title>1 of size 128 to 255</title>" in page.source
    assert page.has("0.05 0.95 " + count(600 - planted.removed.sum())) and page.data["eps"] == pytest.approx(.05)
    assert ('tr', {"class": "here"}) in page.elements


def test_times(page):
    assert page.data["times"]["score"]["seconds"] == 250
    assert page.has("bottleneck device") and page.has("48/s") and page.has("4m10s")


def test_pictures(planted, page):
    images = page.of("img")
    assert page.data["pictures"] > 50 and len(images) >= page.data["pictures"]
    assert all(a["src"].startswith("data:image/jpeg;base64,/9j/") for a in images)
    assert max(int(a["width"]) for a in images) <= 160
    assert page.has(f"Pictures from {planted.place.path.parent / 'shards'}")


def test_pictures_are_of_their_samples(planted, page, tmp_path):
    """The thumbnail beside a key is that sample's picture, shrunk."""
    import base64
    import io

    from PIL import Image
    checked = 0
    for fig in page.source.split("<figure")[1:]:
        m = re.search(r'base64,([^"]+)"', fig)
        key = re.search(r'class="key">(\d+)<', fig)
        got = np.asarray(Image.open(io.BytesIO(base64.b64decode(m[1]))).convert("RGB"), np.float64)
        want = Image.open(io.BytesIO(picture(int(key[1]), 60 + int(key[1]) % 9, 50))).convert("RGB")
        assert got.shape == np.asarray(want).shape  # smaller than 160: kept as it is
        assert np.abs(got - np.asarray(want, np.float64)).mean() < 8
        checked += 1
    assert checked > 50


def test_no_pictures_wanted(planted, tmp_path):
    page = report(planted.place.path, "--pictures", 0, out=tmp_path / "r.html")
    assert not page.of("img") and page.data["pictures"] == 0 and page.has("not asked for")
    page = report(planted.place.path, "--pictures", 5, out=tmp_path / "r.html")
    assert page.data["pictures"] == 5


def test_shards_elsewhere(planted, tmp_path):
    (planted.place.path.parent / "shards").rename(tmp_path / "moved")
    try:
        page = report(planted.place.path, out=tmp_path / "r.html")
        assert page.data["pictures"] == 0 and page.has("not at hand") and page.has("--shards says where they are")
        page = report(planted.place.path, "--shards", tmp_path / "moved", out=tmp_path / "r.html")
        assert page.data["pictures"] > 50
        page = report(planted.place.path, "--shards", tmp_path / "moved/00001.tar", out=tmp_path / "r.html")
        assert 0 < page.data["pictures"] < 50
    finally:
        (tmp_path / "moved").rename(planted.place.path.parent / "shards")
    assert "--shards" in darkroom("report", planted.place.path, "--shards", tmp_path / "none", "-o", tmp_path / "r.html", check=4).stderr


def test_hostile_text_is_text(page):
    assert page.has("</script><script>alert(1)</script>") and page.has("<img src=x onerror=alert(1)>")
    assert page.has("a\u2400b\u241b[31m\u2421") and page.has("\ufffdreversed\ufffd \ufffd")
    assert "x" * 141 not in page.words and page.has("x" * 140 + "\u2026")
    assert page.has("bad <entropy>")


def test_same_page_again(planted, page, tmp_path):
    again = report(planted.place.path, "--threads", 1, out=tmp_path / "r.html")
    strip = lambda s: re.sub(r"Written [^.]*\.", "", s)
    assert strip(again.source) == strip(page.source)


# ---- half-done and odd places ----

def small(path, n=20, parts=2, **kw):
    place = Place(path, [n // parts] * parts, **kw)
    keys = np.array([f"{i:04d}" for i in range(n)])
    place.embedded({"image_path": pa.array(keys), "caption": pa.array(keys), "shard": pa.array(["0.tar"] * n), "key": pa.array(keys)})
    return place


def test_rules_that_keep_nothing(tmp_path):
    place = small(tmp_path / "p").scored(x_score=np.arange(20.0)).filtered([False] * 20, ["x_score > 99"] * 20, "x_score > 99")
    page = report(place.path)
    assert page.data["kept"] == 0 and page.has("The rules keep nothing") and page.has("x_score > 99 \u221220")


def test_reasons_may_say_more_than_the_rule(tmp_path):
    reason = ["a >= 1: null"] * 3 + ["a >= 1"] * 2 + ["a >= 10"] * 4 + ["<something else>"] + [""] * 10
    place = small(tmp_path / "p").filtered([r == "" for r in reason], reason, "a >= 1 and a >= 10")
    assert {r["rule"]: r["dropped"] for r in report(place.path).data["rules"]} == {"a >= 1": 5, "a >= 10": 4, "<something else>": 1}


def test_the_terminal_is_safe_from_reasons(tmp_path):
    place = small(tmp_path / "p").filtered([False] * 20, ["\x1b]0;owned\x07 \u202e" + "é" * 200] * 20, "x > 1")
    r = darkroom("report", place.path, "-o", tmp_path / "r.html", check=0)
    assert "\x1b" not in r.stdout and "\x07" not in r.stdout and "\u202e" not in r.stdout
    lines = r.stdout.splitlines()
    assert lines[0].startswith("samples seen") and lines[-1].startswith("passed the filter") and "é" * 40 in r.stdout


def test_half_scored(tmp_path):
    place = small(tmp_path / "p").scored(x_score=np.arange(20.0))
    (place.path / "_darkroom/score/1.json").unlink()
    page = report(place.path)
    assert page.data["scores"]["x_score"]["values"] == 10 and page.data["scores"]["x_score"]["nulls"] == 10


def test_half_embedded(tmp_path):
    place = small(tmp_path / "p")
    (place.path / "_darkroom/embed/1.json").unlink()
    page = report(place.path)
    assert page.data["rows"] == 10 and page.data["missing"] == 1 and page.has("1 partition is not embedded yet")


def test_unfinished_dedup_is_not_shown(tmp_path):
    place = small(tmp_path / "p")
    keys = [f"{i:04d}" for i in range(20)]
    place.deduped(keys, np.zeros(20, int), keys, np.zeros(20), np.zeros(20, bool), 0.1)
    (place.path / "_darkroom/dedup-eps/0.json").unlink()
    page = report(place.path)
    assert "removed" not in page.data and page.has("Duplicates were not looked for yet")


def test_unfinished_filter_is_left_out(shards, tmp_path):
    darkroom("embed", shards, tmp_path / "p", "--metadata", "--model", "tiny", check=0)
    darkroom("filter", tmp_path / "p", "--where", "n < 3", "--task", "0/3", check=0)
    page = report(tmp_path / "p")
    assert "kept" not in page.data and page.has("filter is left out: 2 partitions are not judged yet")


def test_what_is_made_from_other_files_is_left_out(shards, tmp_path):
    p = tmp_path / "p"
    darkroom("embed", shards, p, "--metadata", "--model", "tiny", check=0)
    darkroom("score", p, "--head", "aesthetic", check=0)
    darkroom("filter", p, "--where", "aesthetic_score > 0", check=0)
    darkroom("dedup", p, "--clusters", 1, "--kept-only", check=0)
    darkroom("export", shards, p, tmp_path / "out", check=0)
    page = report(p)
    assert page.data["exported"] == page.data["left"] and "aesthetic_score" in page.data["scores"]
    assert "export" in str(page.data["times"])
    darkroom("filter", p, "--where", "n != 4", check=0)
    page = report(p)
    assert "left" not in page.data and "exported" not in page.data and page.has("dedup is left out")
    told = darkroom("explain", p, "000000003", check=0)
    assert "dedup is left out" in told.stderr and "no duplicate" not in told.stdout
    darkroom("embed", shards, p, "--metadata", "--model", "tiny", "--dtype", "f32", "--force-new-run", check=0)
    page = report(p)
    assert page.has("the scores of 3 partitions were made from other files") and "aesthetic_score" not in page.data["scores"]
    # what export wrote about itself is not an export of its rows
    darkroom("embed", tmp_path / "out", tmp_path / "out", "--metadata", "--model", "tiny", check=0)
    assert "exported" not in report(tmp_path / "out").data


def test_damaged_sidecar_is_named(tmp_path):
    place = small(tmp_path / "p").scored(x_score=np.arange(20.0))
    f = place.path / "scores/scores_1.parquet"
    f.write_bytes(f.read_bytes()[:-8] + b"PAR1PAR1")
    r = report(place.path, check=4)
    assert "scores/scores_1.parquet" in r.stderr


def test_wild_values(tmp_path):
    x = np.arange(2000) / 1000
    x[7], x[8], x[9] = 1e30, -1e20, np.nan
    keys = [str(i) for i in range(2000)]
    place = Place(tmp_path / "p", [2000])
    place.embedded({"key": pa.array(keys), "caption": pa.array(keys), "wild": pa.array(np.where(np.arange(2000) % 2, 1e308, -1e308))})
    place.scored(x_score=x, flat_score=np.full(2000, .25), none_score=np.full(2000, np.nan), inf_score=np.full(2000, np.inf))
    place.filtered([True] * 2000, [""] * 2000, "wild > 0")
    d = report(place.path).data["scores"]
    assert d["x_score"]["values"] == 1999 and d["x_score"]["under"] == d["x_score"]["over"] == 1
    assert sum(d["x_score"]["counts"]) == 1997 and len(d["x_score"]["counts"]) > 20
    assert d["flat_score"]["counts"] == [2000] and d["none_score"]["values"] == d["inf_score"]["values"] == 0


def test_many_columns_and_groups_are_bounded(tmp_path):
    n = 3000
    keys = np.array([f"{i:05d}" for i in range(n)])
    place = Place(tmp_path / "p", [n])
    place.embedded({"key": pa.array(keys), "caption": pa.array(keys)})
    place.scored(**{f"s{i:02d}_score": np.random.default_rng(i).random(n) for i in range(40)})
    removed = np.arange(n) % 2 == 1
    place.deduped(keys, np.arange(n) // 2, keys[np.arange(n) // 2 * 2], np.where(removed, 1, 0), removed, 0.1)
    page = report(place.path)
    assert page.data["group_count"] == 1500 and len(page.data["groups"]) == 12
    assert len(page.data["scores"]) == 16 and page.has("25 more columns are not drawn")
    assert len(page.source) < 1_000_000


# ---- rules of the real filter ----

def test_thresholds_agree_with_the_filter(shards, tmp_path):
    """Whatever a histogram says passes must be what the filter counted: rounding, strictness, derived numbers."""
    place = tmp_path / "place"
    darkroom("embed", shards, place, "--model", "tiny", "--metadata", check=0)
    made = Place.__new__(Place)
    made.path, made.counts, made.n, made.digits = place, [7, 5, 6], 18, 1
    made.scored(x_score=np.repeat([0.1, 0.2, 0.3], 6))  # on the threshold, and not as a double
    cosine = np.concatenate([(np.load(place / f"img_emb/img_emb_{p}.npy").astype(np.float32) * np.load(place / f"text_emb/text_emb_{p}.npy").astype(np.float32)).sum(1)
                             for p in range(3)])
    rules = ["x_score >= 0.2", "x_score <= 0.3", "min(width, height) > 66", "1.4 >= aspect", "resolution < 90", "`score` < 8", f"clip_similarity >= {np.median(cosine):.3f}", "len(caption) > 0"]
    for rule in rules:
        r = darkroom("filter", place, "--where", rule, "--json", check=0)
        kept = json.loads(r.stdout.splitlines()[-1])["kept"]
        d = report(place).data
        assert d["kept"] == kept and d["rules"] == [{"rule": rule, "dropped": 18 - kept}]
        drawn = [s["passing"] for s in d["scores"].values() if "passing" in s]
        assert drawn == ([] if "len" in rule else [kept]), rule
    darkroom("filter", place, "--where", "aspect <= 1.3 and nosuch is null or n > 3 and x_score > 0", check=2)
    darkroom("filter", place, "--where", "(aspect <= 1.3 or n > 3) and x_score > 0.1", check=0)
    d = report(place).data
    assert [r["rule"] for r in d["rules"]] == ["(aspect <= 1.3 or n > 3)", "x_score > 0.1"] and d["scores"]["x_score"]["passing"] == 12


def test_a_threshold_beyond_all_values_is_named(tmp_path):
    place = small(tmp_path / "p").scored(x_score=np.linspace(0, 1e-5, 20))
    place.filtered([True] * 20, [""] * 20, "x_score < 0.2")
    assert report(place.path).has("The threshold < 0.2 lies above all values")


def test_null_reasons(tmp_path):
    place = small(tmp_path / "p").scored(x_score=[np.nan] * 5 + list(range(15)))
    darkroom("filter", place.path, "--where", "x_score >= 10", check=0)
    page = report(place.path)
    assert page.data["rules"] == [{"rule": "x_score >= 10", "dropped": 15}] and page.has("5 for want of a value")


def test_the_road_itself(tmp_path):
    """score is the only verb left out; what filter, dedup and export say of themselves stands on the page."""
    d, place = tmp_path / "shards", tmp_path / "place"
    d.mkdir()
    for s in range(2):
        write_tar(d / f"{s:05d}.tar", [sample(100 * s + i, **({"jpg": picture(999)} if i < 4 else {})) for i in range(15)])
    darkroom("embed", d, place, "--model", "tiny", "--metadata", check=0)
    told = json.loads(darkroom("filter", place, "--where", "n % 5 != 4", "--json", check=0).stdout.splitlines()[-1])
    darkroom("dedup", place, "--clusters", 1, "--eps", "0.001,0.01", "--kept-only", check=0)
    darkroom("export", d, place, tmp_path / "out", check=0)
    page = report(place)
    removed = pq.read_table(place / "dedup/removed.parquet").to_pydict()
    assert page.data["kept"] == told["kept"] == 24 and page.data["removed"] == len(removed["id"]) >= 7
    assert page.data["left"] == page.data["exported"] == 24 - len(removed["id"]) and page.data["eps"] == 0.001
    assert max(page.data["groups"]) >= 8 and page.data["largest_cluster"] == 24 and page.data["clusters"] == 1
    assert 'class="kept"' in page.source and page.has("0.01 0.99") and page.data["pictures"] > 8
    assert set(page.data["times"]) >= {"embed", "filter", "dedup-clusters", "dedup-pairs", "export"} - {"export"}


# ---- folders of others ----

def retrieval(path, shards, n=30):
    """As clip-retrieval lays it out: no receipts, image_path is the key."""
    for p in range(2):
        for kind in ("img_emb", "metadata"):
            (path / kind).mkdir(parents=True, exist_ok=True)
        keys = [f"{p:05d}{i:04d}" for i in range(n)]
        np.save(path / f"img_emb/img_emb_{p}.npy", np.random.default_rng(p).normal(size=(n, 4)).astype(np.float16))
        pq.write_table(pa.table({"image_path": keys, "caption": [f"caption <{k}>" for k in keys], "punsafe": np.linspace(0, 1, n)}), path / f"metadata/metadata_{p}.parquet")
        shards.mkdir(exist_ok=True)
        write_tar(shards / f"{p:05d}.tar", [(k, {"jpg": picture(i), "txt": b"x"}) for i, k in enumerate(keys)])
    return path


def test_clip_retrieval_folder(tmp_path):
    place = retrieval(tmp_path / "cr", tmp_path / "shards")
    before = tree(place)
    page = report(place)
    assert tree(place) == before
    assert page.data["rows"] == page.data["seen"] == 60 and page.has("laid out by clip-retrieval") and page.has("not made by darkroom embed")


def test_clip_retrieval_folder_with_scores_and_shards(tmp_path):
    path = retrieval(tmp_path / "cr", tmp_path / "shards")
    place = Place.__new__(Place)
    place.path, place.counts, place.n, place.digits = path, [30, 30], 60, 1
    place.scored(x_score=np.linspace(0, 1, 60))
    place.filtered(np.linspace(0, 1, 60) >= .5, ["" if v >= .5 else "x_score >= 0.5" for v in np.linspace(0, 1, 60)], "x_score >= 0.5")
    page = report(path)
    assert page.data["kept"] == 30 and page.data["pictures"] == 0
    page = report(path, "--shards", tmp_path / "shards")  # rows do not say which shard: found by key
    assert page.data["pictures"] == 16 and page.has("caption <000010000>")


def test_folder_of_pictures(tmp_path):
    d = tmp_path / "pics/sub"
    d.mkdir(parents=True)
    for i in range(12):
        (d / f"p{i}.jpg").write_bytes(picture(i))
        (d / f"p{i}.txt").write_text(f"picture {i}")
    place = tmp_path / "place"
    darkroom("embed", tmp_path / "pics", place, "--model", "tiny", check=0)
    made = Place.__new__(Place)
    made.path, made.counts, made.n, made.digits = place, [12], 12, 1
    made.scored(x_score=np.arange(12.0))
    assert report(place).data["pictures"] == 12
    (tmp_path / "pics").rename(tmp_path / "elsewhere")
    assert report(place).data["pictures"] == 0
    assert report(place, "--shards", tmp_path / "elsewhere").data["pictures"] == 12


def test_nemo_folder(tmp_path):
    place = tmp_path / "nemo"
    place.mkdir()
    for p in range(2):
        ids = [f"{p:05d}{i:04d}" for i in range(10)]
        emb = np.random.default_rng(p).normal(size=(10, 4)).astype(np.float32)
        pq.write_table(pa.table({"id": ids, "caption": ids, "aesthetic_score": pa.array(np.arange(10.0), pa.float32()), "image_embedding": list(emb)}),
                       place / f"{p:05d}.parquet")
        write_tar(place / f"{p:05d}.tar", [(k, {"jpg": picture(i), "txt": b"x"}) for i, k in enumerate(ids)])
    made = Place.__new__(Place)
    made.path, made.counts, made.n, made.digits = place, [10, 10], 20, 5
    made.table  # receipts are counted from 0 in every layout
    from places import write_receipt, write_run
    print_ = write_run(place, "score", heads="x", partitions=2)
    for p in range(2):
        name = made.table("scores", p, {"x_score": pa.array(np.arange(10.0), pa.float32())})
        write_receipt(place, "score", p, 1, print_, 10, [name])
    page = report(place)
    assert page.data["rows"] == 20 and page.has("NeMo Curator") and page.data["pictures"] > 8
