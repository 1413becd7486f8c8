"""Make demo/: three shards of the toy world as img2dataset would leave them, with planted trouble.

Every sample comes from a held-out scene (the model never saw its facts). What is planted, and what
a run of `embed` with text and metadata must report, is written to planted.json and README.md.
The same Pillow gives the same bytes: no clock, no user, no machine goes in.

    python3 tools/tiny/demo.py demo
"""
import hashlib
import io
import json
import os
import random
import struct
import sys
import tarfile
import zlib

import numpy as np
import PIL
from PIL import Image, ImageEnhance

import world

SHARDS, PER_SHARD = 3, 90
# how a picture is stored, and how many of a hundred are
STORED = (("jpeg", 44), ("jpeg progressive", 12), ("jpeg grey", 4), ("jpeg cmyk", 2), ("png", 12),
          ("png palette", 6), ("png alpha", 5), ("png grey16", 3), ("webp", 8),
          ("webp lossless", 4))
GIFS = ((0, 48), (2, 30))

# slot -> what is wrong with it; slot 17 of shard 1 is key 000010017
DAMAGE = {
    (0, 12): "jpeg cut in half", (0, 23): "empty picture", (0, 37): "no caption",
    (0, 45): "page instead of a picture", (0, 58): "json cut short", (0, 71): "png cut short",
    (1, 8): "no picture", (1, 17): "member twice", (1, 26): "bad huffman codes",
    (1, 39): "jpeg without its end", (1, 52): "no caption", (1, 64): "drawing commands as png",
    (1, 77): "png with a flipped bit", (2, 5): "no picture", (2, 19): "progressive cut short",
    (2, 33): "json in single quotes", (2, 47): "webp cut short", (2, 60): "png of 2.5 gigapixels",
}
STATUS = {
    "jpeg cut in half": "truncated", "png cut short": "truncated", "webp cut short": "truncated",
    "jpeg without its end": "truncated", "progressive cut short": "truncated",
    "empty picture": "empty", "no caption": "missing_caption", "no picture": "missing_image",
    "page instead of a picture": "unsupported", "drawing commands as png": "unsupported",
    "json cut short": "bad_json", "json in single quotes": "bad_json",
    "member twice": "duplicate_member", "bad huffman codes": "corrupt",
    "png with a flipped bit": "corrupt", "png of 2.5 gigapixels": "too_large",
    "member far from its sample": "non_adjacent",
}
STRAY = (2, 14, 80)  # the .cls member of sample 14 of shard 2 stands after sample 80
# copy -> original
EXACT = {(0, 80): (0, 3), (0, 85): (0, 10), (1, 30): (0, 3), (1, 44): (0, 20), (1, 81): (1, 2),
         (2, 9): (1, 4), (2, 28): (0, 31), (2, 51): (2, 1), (2, 66): (1, 12), (2, 84): (1, 2)}
NEAR = {
    "encoded again": {(0, 65): (0, 5), (1, 21): (0, 14), (1, 70): (1, 6), (2, 23): (0, 40)},
    "smaller": {(0, 74): (0, 16), (1, 33): (0, 28), (2, 12): (1, 10), (2, 55): (2, 3)},
    "cropped": {(0, 88): (0, 25), (1, 48): (0, 50), (1, 86): (1, 14), (2, 70): (1, 20)},
    "brighter": {(1, 56): (1, 0), (2, 37): (0, 7), (2, 78): (2, 7)},
}
WRONG_NAME = {(0, 33): ("png", "jpg"), (1, 60): ("webp", "jpg"), (2, 42): ("jpeg", "png")}
ODD_CAPTION = {(0, 29): "entities", (1, 35): "curly quotes", (2, 16): "accents", (2, 63): "nothing"}


def key_of(slot):
    return f"{slot[0]:05d}{slot[1]:04d}"


# ---------------------------------------------------------------- pictures

def encode(image, stored, rng):
    """Bytes and extension of a picture stored in that way."""
    out = io.BytesIO()
    kind, _, how = stored.partition(" ")
    if kind == "jpeg":
        mode = {"grey": "L", "cmyk": "CMYK"}.get(how, "RGB")
        image.convert(mode).save(out, "JPEG", quality=75 + int(rng.random() * 20),
                                 progressive=how == "progressive",
                                 subsampling=world.pick(rng, (0, 1, 2)))
        return out.getvalue(), "jpg"
    if kind == "png":
        as_png(image, how, rng).save(out, "PNG", optimize=True)
    elif kind == "webp":
        image.save(out, "WEBP", lossless=how == "lossless", quality=82, method=4)
    else:
        image.quantize(64, dither=Image.Dither.NONE).save(out, "GIF")
    return out.getvalue(), kind


def as_png(image, how, rng):
    if how == "palette":
        return image.quantize(48, dither=Image.Dither.NONE)
    if how == "alpha":  # fades towards one side; the colours below stay
        fade = np.linspace(255, 96 + 128 * rng.random(), image.width)
        alpha = np.broadcast_to(fade.astype(np.uint8), (image.height, image.width))
        image = image.copy()
        image.putalpha(Image.fromarray(np.ascontiguousarray(alpha)))
        return image
    if how == "grey16":  # levels 0..255 in 16 bits: Pillow clips what is above when it makes RGB
        return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16))
    return image


def how_stored(slot, rng):
    if slot in WRONG_NAME:
        return WRONG_NAME[slot][0]
    if slot in GIFS:
        return "gif"
    wish = {"jpeg cut in half": "jpeg", "bad huffman codes": "jpeg", "empty picture": "jpeg",
            "page instead of a picture": "jpeg", "jpeg without its end": "jpeg",
            "progressive cut short": "jpeg progressive", "png cut short": "png",
            "drawing commands as png": "png", "png with a flipped bit": "png",
            "png of 2.5 gigapixels": "png", "webp cut short": "webp"}.get(DAMAGE.get(slot))
    if wish or slot in ORIGINALS:
        return wish or "jpeg"
    at = rng.random() * 100
    for stored, share in STORED:
        at -= share
        if at < 0:
            return stored
    return "jpeg"


ORIGINALS = {o for copies in NEAR.values() for o in copies.values()}


def near_copy(image, how, rng):
    if how == "smaller":
        image = image.resize((image.width * 3 // 5, image.height * 3 // 5), Image.BICUBIC)
    elif how == "cropped":
        dx, dy = image.width // 32, image.height // 32
        image = image.crop((dx, dy, image.width - dx, image.height - dy))
    elif how == "brighter":
        image = ImageEnhance.Brightness(image).enhance(1.05)
    stored = {"encoded again": "webp", "smaller": "jpeg"}.get(how, "jpeg progressive")
    return image, *encode(image, stored, rng)


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def damaged(data, what):
    """The picture's bytes after the accident."""
    if what in ("jpeg cut in half", "png cut short", "progressive cut short", "webp cut short"):
        return data[:len(data) * 55 // 100]
    if what == "jpeg without its end":
        return data[:-2]
    if what == "empty picture":
        return b""
    if what == "page instead of a picture":
        return b"<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>\n"
    if what == "drawing commands as png":
        return b'<svg xmlns="http://www.w3.org/2000/svg"><circle r="9" fill="red"/></svg>\n'
    if what == "bad huffman codes":  # a run of one bits: no Huffman code of a JPEG is all ones
        at = len(data) * 6 // 10
        at += data[at - 1] == 0xff  # not between the two bytes of a stuffed pair
        return data[:at] + b"\xff\x00" * 400 + data[at:]
    if what == "png with a flipped bit":
        at = data.index(b"IDAT") + 40
        return data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
    if what == "png of 2.5 gigapixels":
        head = struct.pack(">IIBBBBB", 50000, 50000, 8, 2, 0, 0, 0)
        return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) +
                png_chunk(b"IDAT", zlib.compress(bytes(100000))) + png_chunk(b"IEND", b""))
    return data


# ---------------------------------------------------------------- samples

def odd(caption, how):
    if how == "entities":
        return caption.replace(" a ", " a&nbsp;").replace(" and ", " &amp; ") + " &lt;toy&gt;"
    if how == "curly quotes":
        return f"\u201c{caption}\u201d \u2013 it\u2019s a toy"
    if how == "accents":
        return "Caf\u00e9 d\u00e9cor: " + caption.upper()
    return ""


def describe(slot, scene, caption, image, data, rng):
    """The JSON beside a picture: img2dataset's fields, and some that come and go."""
    key = key_of(slot)
    fields = {"similarity": round(0.2 + 0.2 * rng.random(), 4) if slot[1] % 7 else 0}
    if slot[1] % 3:
        fields["license"] = world.pick(rng, ("CC0", "CC-BY-4.0", "unknown"))
    if slot[1] % 5 == 0:
        fields["tags"] = sorted({g.shape for g in scene.groups})
    fields["scene"] = {"background": {"kind": scene.ground, "colour": scene.tint},
                       "things": sum(g.count for g in scene.groups)}
    if slot[1] % 4:
        fields["scene"]["aesthetic"] = round(world.aesthetic(scene), 3)
    grown = 1 + slot[1] % 3
    fields.update({
        "caption": caption, "url": f"https://pictures.example.invalid/{key}.jpg", "key": key,
        "status": "success", "error_message": None, "width": image.width, "height": image.height,
        "original_width": image.width * grown, "original_height": image.height * grown,
        "exif": "{}", "sha256": hashlib.sha256(data).hexdigest()})
    return json.dumps(fields, indent=4, ensure_ascii=slot[0] != 2)


def scenes_for_all(rng):
    """A scene for each slot. Grey and 16-bit pictures can tell only black, grey and white."""
    colourful = iter(world.unseen_scenes("demo", SHARDS * PER_SHARD))
    grey = iter(world.unseen_scenes("demo grey", 40, world.GREYS))
    out = {}
    for shard in range(SHARDS):
        for i in range(PER_SHARD):
            slot = (shard, i)
            stored = how_stored(slot, rng)
            out[slot] = stored, next(grey if "grey" in stored else colourful)
    return out


def make_samples():
    """slot -> [(extension, bytes)], in the order they stand in the tar."""
    rng = random.Random("demo")
    plan = scenes_for_all(rng)
    copies = {c: (how, o) for how, pairs in NEAR.items() for c, o in pairs.items()}
    images, files, samples = {}, {}, {}
    for slot, (stored, scene) in plan.items():
        if slot in EXACT:
            scene, (image, data, ext) = plan[EXACT[slot]][1], files[EXACT[slot]]
        elif slot in copies:
            how, original = copies[slot]
            scene = plan[original][1]
            image, data, ext = near_copy(images[original], how, rng)
        else:
            image = Image.fromarray(world.draw(scene, *world.random_size(rng, 96, 320)))
            data, ext = encode(image, stored, rng)
        plan[slot] = stored, scene
        images[slot], files[slot] = image, (image, data, ext)
        if slot in WRONG_NAME:
            ext = WRONG_NAME[slot][1]
        what = DAMAGE.get(slot)
        caption = world.caption(scene, rng, full=rng.random() < 0.8)
        if slot in ODD_CAPTION:
            caption = odd(caption, ODD_CAPTION[slot])
        data = damaged(data, what)
        text = describe(slot, scene, caption, image, data, rng)
        if what == "json cut short":
            text = text[:len(text) // 2]
        elif what == "json in single quotes":
            text = text.replace('"', "'")
        members = sorted([(ext, data), ("json", text.encode()), ("txt", caption.encode())])
        if what == "member twice":
            members.insert(1, members[0])
        drop = {"no caption": "txt", "no picture": ext}.get(what)
        samples[slot] = [m for m in members if m[0] != drop]
    return samples


# ---------------------------------------------------------------- shards

FORMATS = (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)


def add(tar, name, data, pax=False):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.uname, info.gname = len(data), 0o444, "bigdata", "bigdata"
    if pax:  # as webdataset writes before every member
        info.pax_headers = {"mtime": "0.0"}
    tar.addfile(info, io.BytesIO(data))


def write_shard(path, shard, samples):
    with tarfile.open(path, "w", format=FORMATS[shard % 3]) as tar:
        for slot in sorted(s for s in samples if s[0] == shard):
            for ext, data in samples[slot]:
                add(tar, f"{key_of(slot)}.{ext}", data, pax=shard == 1 and slot[1] % 10 == 0)
            if slot == (STRAY[0], STRAY[2]):
                add(tar, key_of(STRAY[:2]) + ".cls", b"7")


def write_cut(path, samples):
    """Six samples of which the tar ends inside the fifth one's first member. Returns the cut."""
    whole = [s for s in sorted(samples) if s[0] == 0 and s not in DAMAGE][:6]
    renamed = {(3, i): [(e, d.replace(key_of(s).encode(), key_of((3, i)).encode())
                         if e == "json" else d) for e, d in samples[s]]
               for i, s in enumerate(whole)}
    write_shard(path, 3, renamed)
    with tarfile.open(path) as tar:
        member = next(m for m in tar if m.name.startswith(key_of((3, 4))))
    cut = member.offset_data + member.size // 2
    os.truncate(path, cut)
    return cut


def planted_list():
    rows = [{"key": key_of(s), "what": w, "status": STATUS[w]} for s, w in DAMAGE.items()]
    rows += [{"key": key_of(STRAY[:2]), "what": "member far from its sample",
              "status": "non_adjacent"}]
    rows += [{"key": key_of(s), "what": "exact duplicate", "of": key_of(o), "status": "ok"}
             for s, o in EXACT.items()]
    rows += [{"key": key_of(s), "what": "near duplicate", "how": how, "of": key_of(o),
              "status": "ok"} for how, pairs in NEAR.items() for s, o in pairs.items()]
    rows += [{"key": key_of(s), "what": "wrong extension", "how": f"{is_} named .{named}",
              "status": "ok"} for s, (is_, named) in WRONG_NAME.items()]
    rows += [{"key": key_of(s), "what": "odd caption", "how": how, "status": "ok"}
             for s, how in ODD_CAPTION.items()]
    return sorted(rows, key=lambda r: (r["key"], r["what"]))


def tally(rows, shard=None):
    """What a run must count: samples seen = rows + errors; a stray member is seen by itself."""
    errors = {}
    for r in rows:
        if r["status"] != "ok" and (shard is None or r["key"].startswith(f"{shard:05d}")):
            errors[r["status"]] = errors.get(r["status"], 0) + 1
    shards = SHARDS if shard is None else 1
    stray = errors.get("non_adjacent", 0)
    seen = shards * PER_SHARD + stray
    return {"samples": seen, "rows": seen - sum(errors.values()),
            "errors": dict(sorted(errors.items()))}


def write_planted(folder, cut):
    rows = planted_list()
    out = {
        "about": "What is planted in the shards 00000..00002 and what embed with image, text and "
                 "metadata must report. samples = rows + errors.",
        "pillow": PIL.__version__,
        "total": tally(rows),
        "shards": {f"{i:05d}": tally(rows, i) for i in range(SHARDS)},
        "exact_duplicates": len(EXACT),
        "near_duplicates": sum(len(p) for p in NEAR.values()),
        "wrong_extensions": len(WRONG_NAME),
        "damaged": {"00003": {"status": "tar_damaged", "cut_at": cut, "rows": 4}},
        "planted": rows,
    }
    with open(os.path.join(folder, "planted.json"), "w") as f:
        f.write(json.dumps(out, indent=1) + "\n")
    return out


README = """# demo: a toy world in three shards

Made by `python3 tools/tiny/demo.py demo`. These are not photographs: coloured shapes drawn by rule
(`tools/tiny/world.py`), captioned by rule, stored as img2dataset stores what it downloads: keys of
five digits for the shard and four for the row, `.txt` and `.json` beside each picture. JPEG (also
progressive, grey, CMYK), PNG (RGB, palette, alpha, 16-bit grey), WebP (lossy, lossless), GIF;
shorter side 96 to 320 pixels. Shard 00000 is plain ustar, 00001 has pax records on some members,
00002 is GNU tar. Some pictures carry a warning sign, this world's harmless stand-in for what a
safety score looks for.

`{{00000..00002}}.tar` hold {samples} samples, of which `embed` with text and metadata keeps {rows}.
The rest is planted trouble, one row in `errors/` each:

| status | samples | what was done |
|---|---|---|
{errors}

Also planted, and no error: {exact} exact duplicates (same bytes under another key), {near} near
duplicates (encoded again, smaller, 3 % cropped from each edge, 5 % brighter), {wrong} wrong
extensions, {odd} odd captions (entities, curly quotes, accents, an empty one). JSON fields
come and go, mix integers with floats, and nest. `planted.json` names every key.

`damaged/00003.tar` ends inside a member: `tar_damaged`, with four whole samples before the cut. It
stands in its own folder so that `demo/` and the brace pattern leave it out.
"""


def write_readme(folder, out):
    what = {}
    for r in out["planted"]:
        if r["status"] != "ok":
            what.setdefault(r["status"], {}).setdefault(r["what"], 0)
            what[r["status"]][r["what"]] += 1
    table = "\n".join(
        f"| {s} | {n} | {', '.join(w if c == 1 else f'{w} ({c})' for w, c in what[s].items())} |"
        for s, n in out["total"]["errors"].items())
    text = README.format(samples=out["total"]["samples"], rows=out["total"]["rows"], errors=table,
                         exact=out["exact_duplicates"], near=out["near_duplicates"],
                         wrong=out["wrong_extensions"], odd=len(ODD_CAPTION))
    with open(os.path.join(folder, "README.md"), "w") as f:
        f.write(text)


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "damaged"), exist_ok=True)
    samples = make_samples()
    for shard in range(SHARDS):
        write_shard(os.path.join(folder, f"{shard:05d}.tar"), shard, samples)
    cut = write_cut(os.path.join(folder, "damaged", "00003.tar"), samples)
    out = write_planted(folder, cut)
    write_readme(folder, out)
    print(json.dumps(out["total"]))


if __name__ == "__main__":
    main()
