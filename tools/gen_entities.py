#!/usr/bin/env python3
"""Write src/text/entities.c: the HTML5 named character references, from Python's html.entities.

ftfy also reads names written in capitals (&EACUTE;); which ones is a property of each row.
    python tools/gen_entities.py > src/text/entities.c
"""
import html
from html.entities import html5

BARE, CAPS = 1, 2  # enum: may stand without ';', may be written in capitals


def rows():
    for name in sorted(n[:-1] for n in html5 if n.endswith(";")):
        flags = BARE if name in html5 else 0
        if flags:
            assert html5[name] == html5[name + ";"]
        capitals = f"&{name.upper()};"
        if name == name.lower() and html.unescape(capitals) == capitals:
            flags |= CAPS
        value = [ord(c) for c in html5[name + ";"]] + [0]
        yield name, value[0], value[1] if len(value) == 3 else 0, flags
    assert all(n.endswith(";") or n + ";" in html5 for n in html5)


def wrap(items, quote=""):
    line = "    " + quote
    for item in items:
        if len(line) + len(item) + len(quote) > 100:
            print(line.rstrip() + quote if not quote else line + quote)
            line = "    " + quote
        line += item
    print(line.rstrip() + quote if not quote else line + quote)


def main():
    table = list(rows())
    print("/* entities.c - HTML5 named character references. Made by tools/gen_entities.py from")
    print(" * Python's html.entities; do not edit. */")
    print('#include "text/html.h"\n')
    print("/* Names in byte order, NUL after each. */")
    print("const char entity_names[] =")
    wrap([name + "\\0" for name, *_ in table], '"')
    print(";\n\n/* Where each name starts. */\nconst uint16_t entity_starts[] = {")
    at, starts = 0, []
    for name, *_ in table:
        starts.append(at)
        at += len(name) + 1
    wrap([f"{s}, " for s in starts])
    print("};\nconst size_t entity_count = sizeof entity_starts / sizeof *entity_starts;\n")
    print("/* Code point << 2 | ENTITY_ bits. */\nconst uint32_t entity_values[] = {")
    wrap([f"0x{first << 2 | flags:X}, " for _, first, _, flags in table])
    print("};\n\n/* The few with a second code point: row, code point. */")
    print("const uint16_t entity_seconds[][2] = {")
    seconds = [(i, second) for i, (_, _, second, _) in enumerate(table) if second]
    wrap([f"{{{i}, 0x{second:X}}}, " for i, second in seconds])
    print("};\nconst size_t entity_second_count = sizeof entity_seconds / sizeof *entity_seconds;\n")
    caps = sorted({c for name, first, second, flags in table if flags & CAPS
                   for c in (first, second) if len(chr(c).upper()) > 1})
    print("/* Characters whose capital is more than one character. */")
    print("const uint16_t entity_capitals[][4] = {")
    wrap([f"{{0x{c:X}, " + ", ".join(f"0x{ord(u):X}" for u in chr(c).upper()) + "}, "
          for c in caps])
    print("};\nconst size_t entity_capital_count = sizeof entity_capitals / sizeof *entity_capitals;")


main()
