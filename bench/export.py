"""Export against `cp` of the same bytes followed by `sync -f`, in turns.

Shards of pictures of about 100 KB, with captions and JSON, and a place as embed leaves it (made
here: what is in the pictures does not matter to a copy). Nothing is dropped, so that both write
the same amount; export also reads every row, hashes source and result, and writes tables and
receipts. The best of all rounds counts. Goal: 0.7x.

    python bench/export.py [rounds] [GB] [folder]
"""
import hashlib, io, json, os, random, shutil, subprocess, sys, tarfile, tempfile, time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DARKROOM = os.path.join(os.environ.get("DARKROOM_BUILD", "build"), "darkroom")
SHARD = 2_000


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def make_shard(path, number, rng, blob):
    rows = []
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as t:
        for i in range(SHARD):
            key, n = f"{number:05d}{i:04d}", int(rng.uniform(40_000, 160_000))
            at = rng.randrange(len(blob) - n)
            meta = {"url": f"https://pictures.example.invalid/{key}.jpg", "status": "success", "similarity": rng.random()}
            caption = f"a picture of thing number {i} in a room of shard {number}"
            add(t, f"{key}.jpg", blob[at:at + n])
            add(t, f"{key}.txt", caption.encode())
            add(t, f"{key}.json", json.dumps(meta).encode())
            rows.append({"image_path": key, "caption": caption, "shard": os.path.basename(path), "key": key,
                         "width": 640, "height": 427, **meta})
    return rows


def note(place, name):
    data = open(os.path.join(place, name), "rb").read()
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def make(folder, gigabytes):
    """shards/ and place/, as `darkroom embed shards place --metadata` would leave them."""
    rng, blob = random.Random(7), random.Random(8).randbytes(16 << 20)
    shards, place = os.path.join(folder, "shards"), os.path.join(folder, "place")
    for d in ("shards", "place/metadata", "place/img_emb", "place/errors", "place/_darkroom/embed"):
        os.makedirs(os.path.join(folder, d))
    count = max(1, round(gigabytes * 1e9 / (SHARD * 100_000)))
    digits = len(str(count))
    run = {"format": 1, "input-format": "webdataset", "partitions": str(count)}
    text = "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in run.items()) + "\n}\n"
    open(os.path.join(place, "_darkroom/embed/run.json"), "w").write(text)
    errors = pa.schema([("key", pa.string()), ("shard", pa.string()), ("offset", pa.int64()), ("stage", pa.string()),
                        ("status", pa.string()), ("message", pa.string())])
    for s in range(count):
        name, n = f"{s:05d}.tar", f"{s:0{digits}d}"
        rows = make_shard(os.path.join(shards, name), s, rng, blob)
        np.save(f"{place}/img_emb/img_emb_{n}.npy", np.zeros((len(rows), 512), np.float16))
        pq.write_table(pa.Table.from_pylist(rows), f"{place}/metadata/metadata_{n}.parquet")
        pq.write_table(errors.empty_table(), f"{place}/errors/errors_{n}.parquet")
        outputs = [f"img_emb/img_emb_{n}.npy", f"metadata/metadata_{n}.parquet", f"errors/errors_{n}.parquet"]
        json.dump({"format": 1, "partition": s, "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
                   "samples": len(rows), "rows": len(rows), "errors": {}, "inputs": [note(shards, name)],
                   "outputs": [note(place, o) for o in outputs]}, open(f"{place}/_darkroom/embed/{n}.json", "w"))
    subprocess.run(["sync", "-f", folder], check=True)
    return shards, place


def timed(folder, command):
    shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
    subprocess.run(["sync", "-f", folder], check=True)
    start, cpu = time.perf_counter(), os.times()
    subprocess.run(command, shell=True, check=True, cwd=folder)
    end = os.times()
    return time.perf_counter() - start, end.children_user + end.children_system - cpu.children_user - cpu.children_system


def main():
    rounds, gigabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 5, float(sys.argv[2]) if len(sys.argv) > 2 else 1.5
    root = sys.argv[3] if len(sys.argv) > 3 else None
    darkroom = os.path.abspath(DARKROOM)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        shards, _ = make(folder, gigabytes)
        size = sum(os.path.getsize(os.path.join(shards, f)) for f in os.listdir(shards))
        ways = {"cp, sync -f": "cp -r shards out && sync -f out",
                "export": f"{darkroom} export shards place out -q",
                "export, 2000 a shard": f"{darkroom} export shards place out -q --samples-per-shard {SHARD}",
                "export, one lane": f"{darkroom} export shards place out -q --threads 1"}
        best = {}
        for _ in range(rounds):
            for name, command in ways.items():
                best[name] = min(best.get(name, (9e9, 0)), timed(folder, command))
        print(f"{size / 1e9:.2f} GB in {len(os.listdir(shards))} shards, best of {rounds}")
        for name, (wall, cpu) in best.items():
            ratio = f"  {best['cp, sync -f'][0] / wall:.2f}x of cp" if name != "cp, sync -f" else ""
            print(f"{name:22s} {wall:6.2f} s  {size / wall / 1e6:6.0f} MB/s  {cpu:5.2f} s of CPU{ratio}")


main()
