/* huffman.c - lookups from the lists of code lengths. */
#include "image/jpeg/huffman.h"

#include <string.h>

static uint32_t entry_of(int bits, int move, int value)
{
    return (uint32_t)bits | (uint32_t)move << 8 | (uint32_t)value << 16;
}

static uint32_t long_entry(int length, int symbol)
{
    return entry_of(0, MOVE_LONG, length | symbol << 8);
}

static void fill(uint32_t *to, uint32_t entry, int count)
{
    for (int i = 0; i < count; i++) to[i] = entry;
}

/* All that can follow a code of `length` bits: the values that fit, side by side. */
static void fill_values(uint32_t *to, int length, int symbol, int move, int shift)
{
    int size = symbol & 15, room = LOOK_BITS - length;
    if (size > room) {
        fill(to, long_entry(length, symbol), 1 << room);
        return;
    }
    int each = 1 << (room - size), half = 1 << (size - 1);
    for (int v = 0; v < 1 << size; v++) {
        int value = v < half ? v + 1 - (1 << size) : v;
        fill(to + v * each, entry_of(length + size, move, (int)((unsigned)value << shift)), each);
    }
}

/* An end of 2^run blocks and as many more as `run` bits say; `less` are not counted. */
static void fill_ends(uint32_t *to, int length, int run, int less)
{
    int room = LOOK_BITS - length;
    if (run > room) {
        fill(to, long_entry(length, run << 4), 1 << room);
        return;
    }
    int each = 1 << (room - run);
    for (int v = 0; v < 1 << run; v++)
        fill(to + v * each, entry_of(length + run, MOVE_END, (1 << run) + v - less), each);
}

/* Coefficients of a refinement are one, and the bit behind the code is the sign. */
static void fill_refine(uint32_t *to, int length, int symbol, int count)
{
    int run = symbol >> 4, size = symbol & 15;
    if (size > 1)
        fill(to, entry_of(length, MOVE_BAD, 0), count);
    else if (size && length == LOOK_BITS)
        fill(to, long_entry(length, symbol), count);
    else if (size) {
        uint32_t e = entry_of(length + 1, 0, run) | REFINE_PLACED;
        fill(to, e | REFINE_NEGATIVE, count / 2);
        fill(to + count / 2, e, count / 2);
    } else if (run == 15)
        fill(to, entry_of(length, 0, run), count);
    else
        fill_ends(to, length, run, 0);
}

static void fill_code(uint32_t *to, int length, int symbol, enum huffman_kind kind, int shift)
{
    int run = symbol >> 4, size = symbol & 15, count = 1 << (LOOK_BITS - length);
    if (kind == HUFFMAN_REFINE)
        fill_refine(to, length, symbol, count);
    else if (size + shift > 15)
        fill(to, entry_of(length, MOVE_BAD, 0), count);
    else if (size)
        fill_values(to, length, symbol, kind == HUFFMAN_DC ? 0 : run + 1, shift);
    else if (kind == HUFFMAN_DC)
        fill(to, entry_of(length, 0, 0), count);
    else if (run == 0 || (run < 15 && kind == HUFFMAN_BAND))
        fill_ends(to, length, run, 1);
    else if (run == 15 && kind == HUFFMAN_AC)
        fill(to, entry_of(length, 16, 0), count);
    else
        fill(to, long_entry(length, symbol), count);
}

static uint32_t pair_of(int bits, int moves, int first, int value, int second)
{
    return (uint32_t)bits | (uint32_t)moves << PAIR_MOVES | (uint32_t)first << PAIR_FIRST |
           ((uint32_t)value & 127) << PAIR_VALUE | (uint32_t)second << PAIR_SECOND;
}

/* An entry as the second of a pair; taking more bits than there are when it cannot be that. */
static uint32_t second_of(uint32_t e, int shift)
{
    int move = e >> 8 & 255, value = (int32_t)e >> 16;
    if (move <= 16) value >>= shift;
    if ((move > 16 && move != MOVE_END) || value < -32 || value > 31) return 63;
    return pair_of(e & 63, move, 0, 0, value);
}

/* As the first, or alone. */
static uint32_t first_of(uint32_t e, int shift)
{
    int bits = e & 63, move = e >> 8 & 255, value = (int32_t)e >> 16;
    if (move == MOVE_END && value < 32) return pair_of(bits, MOVE_END, 0, 0, value);
    value >>= shift;
    if (move > 16 || value < -64 || value > 63) return pair_of(0, MOVE_LONG, 0, 0, 0);
    return pair_of(bits, move, move, value, 0);
}

/* A pair is the sum of both. Neighbours that begin with the same entry are filled together. */
static void make_pairs(struct huffman *t, int shift)
{
    enum { N = 1 << LOOK_BITS };
    uint32_t second[N];
    for (int i = 0; i < N; i++) second[i] = second_of(t->entry[i], shift);
    for (int i = 0; i < N;) {
        uint32_t first = first_of(t->entry[i], shift);
        int bits = first & 63, same = 1 << (LOOK_BITS - bits);
        int alone = (first >> PAIR_MOVES & 255) > 16;
        for (int n = 0; bits && n < same; n++) {
            uint32_t then = second[n << bits];
            int fits = !alone && (int)(then & 63) <= LOOK_BITS - bits;
            t->pair[i++] = first + (fits ? then : 0);
        }
        if (!bits) t->pair[i++] = first;
    }
}

int huffman_init(struct huffman *t, const struct code *code, enum huffman_kind kind, int shift)
{
    if (!code->known) return 1;
    uint32_t next = 0;
    int n = 0;
    memcpy(t->symbols, code->symbols, sizeof t->symbols);
    fill(t->entry, long_entry(0, 0), 1 << LOOK_BITS);
    for (int l = 1; l <= 16; l++, next <<= 1) {
        t->offset[l] = n - (int32_t)next;
        for (int i = 0; i < code->bits[l]; i++, n++, next++) {
            if (n > 255 || (kind == HUFFMAN_DC && code->symbols[n] > 15)) return 1;
            if (next + 1 >= 1u << l) return 1; /* no code is all ones */
            if (l <= LOOK_BITS)
                fill_code(t->entry + (next << (LOOK_BITS - l)), l, code->symbols[n], kind, shift);
        }
        t->top[l] = next << (16 - l);
    }
    if (kind == HUFFMAN_AC || kind == HUFFMAN_BAND) make_pairs(t, shift);
    return 0;
}
