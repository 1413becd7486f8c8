"""A place with everything a report shows, every number known, its captions hostile."""
import numpy as np
import pyarrow as pa
from conftest import picture, write_tar
from places import Place, write_live

HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\" onmouseover=\"alert(1)", "a\0b\x1b[31m\x7f",
           "\u202ereversed\u2066 \u200f", "<!-- ", "]]>", "&lt;b&gt; &amp;", "'><svg/onload=1>", "\u2028\u2029\ufffe", "x" * 5000, "{{7*7}} ${1}",
           "</style><style>*{display:none}", "javascript:alert(1)", "\n\t\r", "é" * 300]


class Planted:
    def __init__(self, path, shards=None, n=600, parts=3):
        rng = np.random.default_rng(5)
        self.keys = np.array([f"{i:06d}" for i in range(n)])
        self.a = rng.normal(5, 1, n).astype(np.float32)
        self.s = rng.beta(.5, 4, n).astype(np.float32)
        self.a[:3] = np.nan  # scored, but no number
        self.w = rng.integers(100, 1000, n)
        fails = [~(self.a >= 5.25), ~(self.s < 0.2), ~(self.w >= 256)]
        self.rules = ["aesthetic_score >= 5.25", "nsfw_score < 0.2", "width >= 256"]
        reason = np.full(n, "", object)
        for rule, f in reversed(list(zip(self.rules, fails))):
            reason[f] = rule
        self.keep = reason == ""
        self.dropped = [int((reason == r).sum()) for r in self.rules]
        # clusters of known sizes; in cluster 0 one long chain, in cluster 1 a star
        self.cluster = np.repeat([0, 1, 2, 3], [40, 30, 130, n - 200])
        self.cluster[-1] = 9  # a lonely one
        self.max_id, self.score = self.keys.copy(), np.zeros(n, np.float32)
        for i in range(1, 40):
            self.max_id[i], self.score[i] = self.keys[i - 1], 0.99 - i / 10000
        for i in range(41, 70):
            self.max_id[i], self.score[i] = self.keys[40], 0.98
        for i in range(71, n - 1):
            if i != 200:
                self.max_id[i], self.score[i] = self.keys[i - 1], 0.1 + 0.8 * (i / n)
        self.removed = self.score >= 0.95
        self.quarantined = np.zeros(n, bool)
        self.quarantined[300] = True
        images = rng.normal(size=(n, 8)).astype(np.float16)
        images[:40] = images[0] + (np.arange(40) / 400)[:, None].astype(np.float16)
        self.images = images.astype(np.float32)
        shard = np.array([f"{i * parts // n:05d}.tar" for i in range(n)])
        captions = [HOSTILE[i % len(HOSTILE)] + f" {i}" for i in range(n)]
        counts = [int((shard == f"{p:05d}.tar").sum()) for p in range(parts)]
        self.place = Place(path, counts, errors={0: [("k0", "00000.tar", "corrupt", "bad <entropy>")], 2: [("k2", "00002.tar", "corrupt", "x")] * 3})
        self.place.embedded({"image_path": pa.array(self.keys), "caption": pa.array(captions), "shard": pa.array(shard), "key": pa.array(self.keys),
                             "width": pa.array(self.w), "height": pa.array(self.w)}, images)
        self.place.scored(aesthetic_score=self.a, nsfw_score=self.s)
        self.place.filtered(self.keep, reason, " and ".join(self.rules))
        self.place.deduped(self.keys, self.cluster, self.max_id, self.score, self.removed, 0.05, self.quarantined,
                           summary=[(0.01, 590, 10), (0.05, 600 - int(self.removed.sum()), int(self.removed.sum()))])
        write_live(path, "embed", samples=604, rows=600, seconds=12.5, bottleneck="device", **({"inputs": str(shards)} if shards else {}))
        write_live(path, "score", samples=600, rows=600, seconds=250.0)
        if shards:
            shards.mkdir()
            for p in range(parts):
                mine = [i for i in range(n) if shard[i] == f"{p:05d}.tar"]
                write_tar(shards / f"{p:05d}.tar", [(self.keys[i], {"txt": b"c", "jpg": picture(i, 60 + i % 9, 50)}) for i in mine])
            self.place.made_from(shards)
