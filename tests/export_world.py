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


def write_receipt(place, product, name, fingerprint, rows, outputs):
    files = [{"name": o, "size": (place / o).stat().st_size,
              "sha256": hashlib.sha256((place / o).read_bytes()).hexdigest()} for o in outputs]
    (place / "_darkroom" / product / name).write_text(json.dumps(
        {"format": 1, "partition": int(name.split(".")[0]), "fingerprint": fingerprint, "samples": rows, "rows": rows,
         "errors": {}, "inputs": [], "outputs": files}))


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
