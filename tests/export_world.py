"""Places for the tests of export: what dedup would leave, NeMo's and clip-retrieval's layouts, and how to read what came out."""
import hashlib
import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import darkroom


def embed(inp, place, *args, check=0):
    return darkroom("embed", inp, place, "--model", "tiny", *args, check=check)


def export(*args, check=0, **kw):
    return darkroom("export", *args, check=check, **kw)


def write_run(place, product, fields):
    """run.json as the program writes it; its hash is the fingerprint of receipts."""
    text = "{\n \"format\": 1" + "".join(f",\n {json.dumps(k)}: {json.dumps(v)}" for k, v in fields.items()) + "\n}\n"
    folder = place / "_darkroom" / product
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def noted(path, name):
    return {"name": name, "size": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def write_receipt(place, product, name, fingerprint, rows, outputs, inputs=()):
    (place / "_darkroom" / product / name).write_text(json.dumps(
        {"format": 1, "partition": int(name.split(".")[0]), "fingerprint": fingerprint, "samples": rows, "rows": rows,
         "errors": {}, "inputs": [noted(i, i.name) for i in inputs], "outputs": [noted(place / o, o) for o in outputs]}))


def remove(place, rows):
    """dedup/removed.parquet: rows as (partition, row)."""
    (place / "dedup").mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([f"id{r}" for _, r in rows], pa.string()),
                             "part": pa.array([p for p, _ in rows], pa.int32()),
                             "row": pa.array([r for _, r in rows], pa.int64())}), place / "dedup/removed.parquet")
    fingerprint = write_run(place, "dedup-eps", {"eps": "0.05", "partitions": "1"})
    write_receipt(place, "dedup-eps", "0.json", fingerprint, len(rows), ["dedup/removed.parquet"])


def members(path):
    """[(name, bytes)] of a tar, in order; it must be whole and have its end mark."""
    data = path.read_bytes()
    assert len(data) % 10240 == 0 and data.endswith(bytes(1024))
    with tarfile.open(fileobj=io.BytesIO(data)) as t:
        return [(m.name, t.extractfile(m).read()) for m in t.getmembers()]


def all_members(folder):
    return [m for p in sorted(folder.glob("*.tar")) for m in members(p)]


def keys(folder):
    seen = []
    for name, _ in all_members(folder):
        key = name[:name.rindex("/") + 1] + name[name.rindex("/") + 1:].split(".")[0] if "/" in name else name.split(".")[0]
        if not seen or seen[-1] != key:
            seen.append(key)
    return seen


def table(folder):
    return pa.concat_tables([pq.read_table(p) for p in sorted(folder.glob("*.parquet"))])


def want_members(samples):
    return [(f"{key}.{ext}", data) for key, files in samples for ext, data in files.items()]


def add(tar, name, data, **kw):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for k, v in kw.items():
        setattr(info, k, v)
    tar.addfile(info, io.BytesIO(data))


def many(path, names, body=b"x"):
    """A tar of many small files, made faster than tarfile does."""
    info = tarfile.TarInfo("")
    info.size = len(body)
    head = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    head[148:156] = b" " * 8
    rest, tail = sum(head), body + bytes(-len(body) % 512)
    with open(path, "wb") as f:
        for name in names:
            n = name.encode()
            head[:100] = n.ljust(100, b"\0")
            head[148:156] = b"%06o\0 " % (rest + sum(n))
            f.write(head + tail)
            head[148:156] = b" " * 8
        f.write(bytes(1024))
        f.write(bytes(-f.tell() % 10240))


def own_place(place, shards, count):
    """A place as embed leaves it, made from shards without looking at a picture; every sample has a row."""
    parts = [[] for _ in range(count)]
    names = sorted(p.name for p in shards.iterdir())
    for i, name in enumerate(names):
        with tarfile.open(shards / name) as t:
            seen = dict.fromkeys(m.name.split(".")[0] for m in t.getmembers())
        parts[i % count] += [(name, k) for k in seen]
    for d in ("metadata", "img_emb", "errors"):
        (place / d).mkdir(parents=True)
    run = write_run(place, "embed", {"input-format": "webdataset", "partitions": str(count)})
    errors = pa.schema([("key", pa.string()), ("shard", pa.string()), ("offset", pa.int64()), ("stage", pa.string()),
                        ("status", pa.string()), ("message", pa.string())])
    for p, rows in enumerate(parts):
        files = [f"metadata/metadata_{p}.parquet", f"img_emb/img_emb_{p}.npy", f"errors/errors_{p}.parquet"]
        pq.write_table(pa.table({"image_path": [k for _, k in rows], "caption": [f"caption of {k}" for _, k in rows],
                                 "shard": [s for s, _ in rows], "key": [k for _, k in rows]}), place / files[0],
                       row_group_size=700)
        np.save(place / files[1], np.zeros((len(rows), 4), np.float16))
        pq.write_table(errors.empty_table(), place / files[2])
        write_receipt(place, "embed", f"{p}.json", run, len(rows), files, [shards / n for n in names[p::count]])
    return place


def nemo_place(folder, shards, dim=4, end=True):
    """NeMo's layout: NNNNN.tar beside NNNNN.parquet with id, caption and image_embedding. shards: lists of ids."""
    folder.mkdir()
    for s, ids in enumerate(shards):
        with tarfile.open(folder / f"{s:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as t:
            for i in ids:
                add(t, f"{i}.jpg", b"picture " + str(i).encode())
                add(t, f"{i}.txt", b"caption " + str(i).encode())
                add(t, f"{i}.json", json.dumps({"id": i}).encode())
        if not end:  # as NeMo leaves it: no zero blocks
            data = (folder / f"{s:05d}.tar").read_bytes().rstrip(b"\0")
            (folder / f"{s:05d}.tar").write_bytes(data + bytes(-len(data) % 512))
        rng = np.random.default_rng(s)
        vectors = rng.standard_normal((len(ids), dim), dtype=np.float32)
        pq.write_table(pa.table({"id": pa.array(ids), "caption": [f"caption {i}" for i in ids],
                                 "image_embedding": pa.array(list(vectors), pa.list_(pa.float32()))}),
                       folder / f"{s:05d}.parquet")
    return folder


def retrieval_place(folder, parts, dim=4):
    """clip-retrieval's layout; parts: lists of keys."""
    for d in ("img_emb", "metadata"):
        (folder / d).mkdir(parents=True)
    for p, ks in enumerate(parts):
        np.save(folder / f"img_emb/img_emb_{p}.npy", np.ones((len(ks), dim), np.float16))
        pq.write_table(pa.table({"image_path": ks, "caption": [f"c {k}" for k in ks]}),
                       folder / f"metadata/metadata_{p}.parquet")
    return folder
