"""The tiny model's own byte-pair vocabulary, in the layout of OpenAI's bpe_simple_vocab .txt.gz.

Line 0 is a header, every further line one merge. The vocabulary is 256 byte symbols, the same
with `</w>`, one symbol per merge, then start and end of text. There is no newline after the last
merge: readers that split on newlines (open_clip) would count one merge too many.

    python3 tools/tiny/vocab.py vocab.txt.gz   # learn the merges from captions and save them
"""
import collections
import gzip
import random
import re
import sys

import world

HEADER = '"tiny_vocab - learned from the captions of tools/tiny/world.py'
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[a-z]+|[0-9]|[^\sa-z0-9]+")


def byte_symbols():
    """The printable stand-in for each byte, in vocabulary order: printable Latin-1 first."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


BYTES = byte_symbols()


def split(text):
    """Words of a caption of this world, which is ASCII: the CLIP pattern without Unicode."""
    return WORDS.findall(" ".join(text.lower().split()))


def symbols(piece):
    out = [BYTES[b] for b in piece.encode()]
    out[-1] += "</w>"
    return out


def join(parts, pair):
    """All occurrences of the pair, left to right, become one symbol."""
    out, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair:
            out.append(parts[i] + parts[i + 1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


class Vocab:
    def __init__(self, merges):
        self.merges = merges
        self.rank = {pair: i for i, pair in enumerate(merges)}
        names = list(BYTES.values())
        names += [n + "</w>" for n in names] + ["".join(m) for m in merges]
        self.id = {n: i for i, n in enumerate(names)}
        self.sot, self.eot = len(names), len(names) + 1
        self.size = len(names) + 2
        self.cache = {}

    @classmethod
    def learn(cls, captions, most=600):
        """Join the commonest pair, again and again; ties go to the pair that sorts first. Ends
        when every word is one symbol."""
        counts = collections.Counter(w for c in captions for w in split(c))
        words = {w: symbols(w) for w in sorted(counts)}
        merges = []
        while len(merges) < most:
            pairs = collections.Counter()
            for w, parts in words.items():
                for pair in zip(parts, parts[1:]):
                    pairs[pair] += counts[w]
            if not pairs:
                break
            best = min(pairs, key=lambda p: (-pairs[p], p))
            merges.append(best)
            words = {w: join(parts, best) for w, parts in words.items()}
        return cls(merges)

    @classmethod
    def load(cls, path):
        lines = gzip.open(path, "rt", encoding="utf-8").read().split("\n")[1:]
        return cls([tuple(line.split()) for line in lines if line])

    def save(self, path):
        text = "\n".join([HEADER] + [" ".join(m) for m in self.merges])
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as f:
            f.write(text.encode())

    def pieces(self, piece):
        parts = symbols(piece)
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda p: self.rank.get(p, len(self.rank)))
            if best not in self.rank:
                break
            parts = join(parts, best)
        return [self.id[p] for p in parts]

    def encode(self, text, context):
        """Start, pieces, end, zero padded; a long one is cut and still ends with end of text."""
        ids = [self.sot]
        for w in split(text):
            if w not in self.cache:
                self.cache[w] = self.pieces(w)
            ids += self.cache[w]
        ids = ids[:context - 1] + [self.eot]
        return ids + [0] * (context - len(ids))


def learned():
    rng = random.Random("vocabulary")
    return Vocab.learn(world.caption(world.random_scene(rng), rng, full=i % 2 == 0)
                       for i in range(20000))


if __name__ == "__main__":
    vocab = learned()
    vocab.save(sys.argv[1])
    print(f"{len(vocab.merges)} merges, {vocab.size} ids")
