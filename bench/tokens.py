#!/usr/bin/env python3
"""Captions per second on one core: ours and open_clip's SimpleTokenizer, interleaved.

    python bench/tokens.py [captions]      # needs open_clip and build/tests/interop/token_tool
CPU seconds, best of the rounds: plain web captions, sentences in many scripts, and the damaged
captions of the tests.
open_clip keeps every word it ever saw; it is warmed up as ours is.
"""
import os
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/peers"))
import torch  # noqa: E402
from captions import SENTENCES, captions, web_captions  # noqa: E402
from open_clip import tokenizer as peer  # noqa: E402

TOOL = os.path.join(os.environ.get("DARKROOM_BUILD", os.path.join(ROOT, "build")),
                    "tests/interop/token_tool")
ROUNDS = 3


def ours(data):
    out = subprocess.run([TOOL, "bench", peer.default_bpe(), "2"], input=data, check=True,
                         stdout=subprocess.PIPE, text=False).stdout.decode().split("\n")
    return float(out[0].split()[1]), min(float(line.split()[1]) for line in out[1:] if line)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    torch.set_num_threads(1)
    tokenizer = peer.SimpleTokenizer()
    sets = {"web captions": web_captions(1, count), "many scripts": SENTENCES * (count // len(SENTENCES)),
            "damaged captions": captions(1, count // 4)}
    for name, texts in sets.items():
        data = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)
        tokenizer(texts)
        best_ours = best_theirs = opened = 1e9
        for _ in range(ROUNDS):
            start, spent = ours(data)
            opened, best_ours = min(opened, start), min(best_ours, spent)
            at = time.process_time()
            tokenizer(texts)
            best_theirs = min(best_theirs, time.process_time() - at)
        print(f"{name}: {len(texts) / best_ours:,.0f}/s, open_clip {len(texts) / best_theirs:,.0f}/s, "
              f"ratio {best_theirs / best_ours:.0f}x (vocabulary opened in {opened * 1e3:.0f} ms)")


main()
