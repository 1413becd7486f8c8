"""Places made by hand, for tests and benchmarks of what reads them: sidecars with receipts as
darkroom writes them, every number known."""
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BAD = ("corrupt", "truncated", "too_large", "unsupported", "empty", "missing_image", "missing_caption", "bad_json",
       "duplicate_member", "non_adjacent", "tar_damaged", "shard_missing")


def write_run(place, product, **fields):
    """run.json as run_print writes it; returns its fingerprint."""
    path = Path(place) / "_darkroom" / product / "run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = '{\n "format": 1' + "".join(f",\n {json.dumps(k)}: {json.dumps(str(v))}" for k, v in fields.items()) + "\n}\n"
    path.write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def write_receipt(place, product, part, digits, fingerprint, rows, outputs, errors=None, inputs=()):
    place, errors = Path(place), errors or {}
    outs = [{"name": o, "size": (place / o).stat().st_size, "sha256": hashlib.sha256((place / o).read_bytes()).hexdigest()}
            for o in outputs]
    (place / f"_darkroom/{product}/{part:0{digits}d}.json").write_text(json.dumps(
        {"format": 1, "version": "test", "partition": part, "fingerprint": fingerprint, "samples": rows + sum(errors.values()),
         "rows": rows, "errors": errors, "inputs": list(inputs), "outputs": outs}))


def write_live(place, product, **fields):
    path = Path(place) / "_darkroom" / product / "live/0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"task": "0/1", "host": "h", "pid": 1, "state": "done", **fields}))


class Place:
    """A place with len(counts) partitions; columns are arrays over all rows, split as counts says."""

    def __init__(self, path, counts, dim=8, errors=None, **embed):
        self.path, self.counts, self.n = Path(path), list(counts), int(sum(counts))
        self.digits = len(str(len(self.counts)))
        self.errors = errors or {}  # part -> list of (key, shard, status, message)
        self.embed = write_run(path, "embed", partitions=len(self.counts), **embed)

    def name(self, kind, part, ext="parquet", stem=None):
        return f"{kind}/{stem or kind}_{part:0{self.digits}d}.{ext}"

    def parts(self):
        at = 0
        for p, n in enumerate(self.counts):
            yield p, slice(at, at + n)
            at += n

    def table(self, kind, part, columns, stem=None, **kw):
        name = self.name(kind, part, stem=stem)
        (self.path / kind).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), self.path / name, **kw)
        return name

    def embedded(self, metadata, images=None):
        for p, s in self.parts():
            outs, bad = [], self.errors.get(p, [])
            if self.counts[p]:
                outs.append(self.table("metadata", p, {k: v[s] for k, v in metadata.items()}))
                if images is not None:
                    (self.path / "img_emb").mkdir(exist_ok=True)
                    np.save(self.path / self.name("img_emb", p, "npy"), images[s])
                    outs.append(self.name("img_emb", p, "npy"))
            cols = list(zip(*bad)) or [(), (), (), ()]
            text = pa.string()
            outs.append(self.table("errors", p, {"key": pa.array(cols[0], text), "shard": pa.array(cols[1], text),
                                                 "offset": pa.array([0] * len(bad), pa.int64()),
                                                 "stage": pa.array(["decode"] * len(bad), text),
                                                 "status": pa.array(cols[2], text), "message": pa.array(cols[3], text)}))
            count = {}
            for b in bad:
                count[b[2]] = count.get(b[2], 0) + 1
            write_receipt(self.path, "embed", p, self.digits, self.embed, self.counts[p], outs, count)
        return self

    def made_from(self, shards):
        """Shard p of that folder is what partition p was embedded from."""
        for p, _ in self.parts():
            receipt = self.path / f"_darkroom/embed/{p:0{self.digits}d}.json"
            tar = shards / f"{p:05d}.tar"
            if not tar.exists():
                continue
            about = json.loads(receipt.read_text())
            about["inputs"] = [{"name": tar.name, "size": tar.stat().st_size, "sha256": ""}]
            receipt.write_text(json.dumps(about))
        return self

    def product(self, product, kind, columns, stem=None, **run):
        print_ = write_run(self.path, product, **run, partitions=len(self.counts))
        for p, s in self.parts():
            outs = [self.table(kind, p, {k: v[s] for k, v in columns.items()}, stem)]
            write_receipt(self.path, product, p, self.digits, print_, self.counts[p], outs)
        return self

    def scored(self, **scores):
        return self.product("score", "scores", {k: pa.array(v, pa.float32()) for k, v in scores.items()}, heads=",".join(scores))

    def filtered(self, keep, reason, where):
        return self.product("filter", "keep", {"keep": pa.array(keep, pa.bool_()), "reason": pa.array(reason, pa.string())},
                            **{f"rule {i + 1}": r for i, r in enumerate(where.split(" and "))})

    def deduped(self, ids, cluster, max_id, score, removed, eps, quarantined=None, summary=()):
        """dedup/ in DESIGN's format; removed and quarantined are masks over all rows."""
        part = np.repeat(np.arange(len(self.counts)), self.counts).astype(np.int32)
        row = np.concatenate([np.arange(n) for n in self.counts]).astype(np.int64)
        quarantined = np.zeros(self.n, bool) if quarantined is None else quarantined
        cols = {"nearest_cent": pa.array(cluster, pa.int32(), mask=quarantined), "l2_dist_to_cent": pa.array(np.zeros(self.n), pa.float32()),
                "cosine_dist_to_cent": pa.array(np.full(self.n, 0.25), pa.float32()), "max_id": pa.array(max_id, pa.string()),
                "cosine_sim_score": pa.array(score, pa.float32())}
        self.product("dedup-pairs", "dedup", cols, stem="assign")
        all_ = pa.table({"id": pa.array(ids, pa.string()), "part": pa.array(part, pa.int32()), "row": pa.array(row, pa.int64()), **cols})
        outs = []
        for name, mask in (("removed", removed), ("kept", ~removed & ~quarantined), ("quarantined", quarantined)):
            pq.write_table(all_.filter(pa.array(mask)), self.path / f"dedup/{name}.parquet")
            outs.append(f"dedup/{name}.parquet")
        with open(self.path / "dedup/summary.csv", "w") as f:
            f.write("eps,kept,removed,total\n")
            for e, k, r in summary or [(eps, self.n - int(removed.sum()), int(removed.sum()))]:
                f.write(f"{e},{k},{r},{self.n}\n")
        print_ = write_run(self.path, "dedup-eps", eps=eps, partitions=1)
        write_receipt(self.path, "dedup-eps", 0, 1, print_, self.n, outs + ["dedup/summary.csv"])
        return self
