#!/usr/bin/env python3
"""Write src/text/glyphs.c: one row for each character that occurs in mojibake.

A row tells which byte it is in each single-byte encoding that ftfy tries, which of ftfy's
categories it belongs to, and which part of a UTF-8 sequence it may stand for. Characters are
tested one by one against ftfy's own expressions and codecs.
    python tools/gen_mojibake.py > src/text/glyphs.c
"""
import re

import ftfy
from ftfy.badness import MOJIBAKE_CATEGORIES
from ftfy.chardata import CHARMAP_ENCODINGS, UTF8_CLUES, possible_encoding

CATEGORIES = ["common", "c1", "bad", "law", "currency", "start_punctuation", "end_punctuation",
              "numeric", "kaomoji", "upper_accented", "lower_accented", "upper_common",
              "lower_common", "box"]
CLUES = ["utf8_first_of_2", "utf8_first_of_3", "utf8_first_of_4", "utf8_continuation",
         "utf8_continuation_strict"]


def members(sets, names, ch):
    return sum(1 << i for i, n in enumerate(names) if re.match(f"[{sets[n]}]", ch))


def main():
    assert set(CATEGORIES) == set(MOJIBAKE_CATEGORIES) and set(CLUES) == set(UTF8_CLUES)
    print("/* glyphs.c - characters that occur in mojibake. Made by tools/gen_mojibake.py from")
    print(f" * ftfy {ftfy.__version__} and Python's codecs; do not edit. */")
    print('#include "text/glyphs.h"\n')
    print("/* code point, category, clue, byte in each of " + ", ".join(CHARMAP_ENCODINGS[1:4]) + ",")
    print(" * " + ", ".join(CHARMAP_ENCODINGS[4:]) + " (0: none). */")
    print("const struct glyph glyphs[] = {")
    for code in range(0x80, 0x10000):
        if 0xD800 <= code < 0xE000:
            continue
        ch = chr(code)
        category = members(MOJIBAKE_CATEGORIES, CATEGORIES, ch)
        clue = members(UTF8_CLUES, CLUES, ch)
        row = []
        for encoding in CHARMAP_ENCODINGS[1:]:
            row.append(ch.encode(encoding)[0] if possible_encoding(ch, encoding) else 0)
        if category or clue or any(row):
            text = ", ".join(str(b) for b in row)
            print(f"    {{0x{code:X}, 0x{category:X}, 0x{clue:X}, {{{text}}}}},")
    print("};\nconst size_t glyph_count = sizeof glyphs / sizeof *glyphs;")


main()
