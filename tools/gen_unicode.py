#!/usr/bin/env python3
"""Write src/text/unidata.c: what Python and its `regex` module say about each code point.

The tokenizer must cut text exactly where open_clip does, so the classes come from the very
libraries open_clip asks, not from another Unicode version. Run with the pinned peers:
    python tools/gen_unicode.py > src/text/unidata.c
"""
import re
import unicodedata

import regex

LETTER, NUMBER, SKIP = 1, 2, 3  # enum rune_class
ASSIGNED, WORD, DIGIT, CASED, IGNORABLE = 4, 8, 16, 32, 64


def bits_of(code):
    ch = chr(code)
    flags = regex.IGNORECASE
    if regex.match(r"[\p{L}]", ch, flags):
        bits = LETTER
    elif regex.match(r"[\p{N}]", ch, flags):
        bits = NUMBER
    else:
        bits = 0 if regex.match(r"[^\s\p{L}\p{N}]", ch, flags) else SKIP
    if unicodedata.category(ch) != "Cn":
        bits |= ASSIGNED
    if re.match(r"\w", ch):
        bits |= WORD
    if re.match(r"\d", ch):
        bits |= DIGIT
    # str.lower() shows what it thinks of a character by how it treats a sigma before it.
    if ("A\u03a3" + ch).lower()[1] == "\u03c3":
        bits |= CASED
    elif ("A\u03a3" + ch + "A").lower()[1] == "\u03c3":
        bits |= IGNORABLE
    return bits


def main():
    ranges = []
    for code in range(0x110000):
        bits = 0 if 0xD800 <= code < 0xE000 else bits_of(code)
        if not ranges or ranges[-1][1] != bits:
            ranges.append((code, bits))
    print("/* unidata.c - classes of all code points, as ranges. Made by tools/gen_unicode.py with")
    print(f" * Python's Unicode {unicodedata.unidata_version} and regex {regex.__version__}; "
          "do not edit. */")
    print('#include "text/unicode.h"\n')
    print("/* Each entry: first code point << 8 | RUNE_ bits; it holds until the next one. */")
    print("const uint32_t unicode_ranges[] = {")
    line = "   "
    for code, bits in ranges:
        item = f" 0x{code << 8 | bits:X},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")
    print("const size_t unicode_range_count = sizeof unicode_ranges / sizeof *unicode_ranges;\n")
    print("/* NFKC of U+FF00..U+FFEF, its first code point; U+FFE3 alone has a second, U+0304. */")
    print("const uint16_t unicode_widths[240] = {")
    line = "   "
    for code in range(0xFF00, 0xFFF0):
        wide = unicodedata.normalize("NFKC", chr(code))
        assert len(wide) == 1 or (code == 0xFFE3 and wide == " \u0304")
        item = f" 0x{ord(wide[0]):X},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


main()
