#!/usr/bin/env python3
"""Write tests/data/text: a small vocabulary and tokens that open_clip's algorithm gives with it.

    python tools/golden/make_small_vocab.py      # needs open_clip (and with it ftfy, regex)
small_vocab.txt   400 merges learnt from the captions of tests/peers/captions.py, no last newline
small_tokens.jsonl   one {"text", "clean", "ids"} a line, context 77, no padding
"""
import collections
import gzip
import json
import os
import sys
import tempfile

import regex

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/peers"))
from captions import ENTITIES, SENTENCES, SPECIAL, captions  # noqa: E402
from open_clip import tokenizer as peer  # noqa: E402

OUT = os.path.join(ROOT, "tests/data/text")
MERGES = 400
WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", regex.IGNORECASE)
CASES = ["", " ", "a diagram", "a photo of a cat", "don't can't we'll I'M", "x" * 300, "ab" * 200,
         "\u0301" * 40, "\x00\x01", "&lt;b&gt; Tom &amp;amp; Jerry", "caf\u00c3\u00a9", "\ufb01\uff21\u201c\u2019"]


def join(word, pair):
    out, i = [], 0
    while i < len(word):
        if word[i:i + 2] == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def learn(texts):
    to_char = peer.bytes_to_unicode()
    counts = collections.Counter(w for t in texts for w in WORDS.findall(peer._clean_lower(t)))
    words = {}
    for word, count in counts.items():
        chars = [to_char[b] for b in word.encode("utf-8")]
        words[tuple(chars[:-1]) + (chars[-1] + "</w>",)] = count
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = {join(word, best): count for word, count in words.items()}
    return merges


def main():
    merges = learn(SENTENCES)
    text = "\n".join(["#version: small"] + [" ".join(m) for m in merges])
    with open(os.path.join(OUT, "small_vocab.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    with tempfile.NamedTemporaryFile(suffix=".txt.gz") as packed:
        packed.write(gzip.compress(text.encode("utf-8")))
        packed.flush()
        tokenizer = peer.SimpleTokenizer(bpe_path=packed.name)
    texts = CASES + SENTENCES[:40] + ENTITIES + SPECIAL + captions(11, 60)
    with open(os.path.join(OUT, "small_tokens.jsonl"), "w", encoding="ascii") as f:
        for t in texts:
            ids = tokenizer(t)[0].tolist()
            ids = ids[:ids.index(tokenizer.eot_token_id) + 1] if "end_of" not in t.lower() else \
                ids[:max(i for i, v in enumerate(ids) if v == tokenizer.eot_token_id) + 1]
            f.write(json.dumps({"text": t, "clean": peer._clean_lower(t), "ids": ids}) + "\n")


main()
