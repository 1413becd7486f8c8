/* entropy_codes.h - part of entropy_loops.h: codes to the coefficients of a block. One comparison
 * per lookup finds the last coefficient, the end of the block and codes that the lookup does not
 * hold. */

/* The symbol and code length of a lookup that says MOVE_LONG; length 0 when there is none. */
LOOP int long_symbol(int *length, const struct huffman *t, uint32_t e, uint64_t bits)
{
    *length = e >> 16 & 255;
    return *length ? (int)(e >> 24) : huffman_symbol(length, t, bits);
}

LOOP int take_value(struct bits *b, int size)
{
    int v = huffman_value(b->top, size);
    bits_drop(b, size);
    return v;
}

LOOP int16_t *block_of(const struct entropy *s, int slot, int mcu)
{
    return s->slot[slot].out + (ptrdiff_t)(mcu - s->from) * s->slot[slot].step;
}

/* The DC of the next block, from the difference; 31 bits at most. */
LOOP int read_dc(struct entropy *s, struct bits *b, const struct slot *slot, int *bad)
{
    bits_refill(b);
    uint32_t e = slot->dc->entry[b->top >> (64 - LOOK_BITS)];
    int value = (int32_t)e >> 16;
    bits_drop(b, e & 63);
    if (unlikely(e & 0xff00)) {
        int length, size = long_symbol(&length, slot->dc, e, b->top);
        *bad |= !length;
        bits_drop(b, length);
        value = size ? take_value(b, size) : 0;
    }
    value += s->dc[slot->part];
    *bad |= value != (int16_t)value;
    s->dc[slot->part] = value;
    return value;
}

/* Where the coefficients of a block go. */
struct block {
    int16_t *out;    /* NULL to step over them */
    uint64_t *found; /* which are not zero: of progressive scans, else NULL */
    int store;       /* out is not NULL: known when this is compiled */
    int last, low;   /* index of the last, how far values are shifted */
};

LOOP void put(const struct block *to, int k, int value)
{
    if (to->store) to->out[to->found ? 63 - k : frame_order[k]] = (int16_t)value;
    if (to->found) *to->found |= 1ull << 63 >> k;
}

/* A pair. 1 while the index stays below `last`; else nothing is taken yet. */
LOOP int step(struct bits *b, const struct huffman *t, const struct block *to, int *k,
              uint32_t *pair)
{
    uint32_t e = *pair = t->pair[b->top >> (64 - LOOK_BITS)];
    int first = *k + (int)(e >> PAIR_FIRST & 31), second = *k + (int)(e >> PAIR_MOVES & 255);
    if (unlikely(second >= to->last)) return 0;
    put(to, second, (int)((unsigned)pair_second(e) << to->low));
    put(to, first, (int)((unsigned)pair_value(e) << to->low));
    *k = second;
    bits_drop(b, e & 63);
    return 1;
}

/* A coefficient or end of block that the lookup does not hold: its index, or a MOVE_. `ends`: a run
 * of ends may stand here. */
LOOP int read_long(struct bits *b, const struct huffman *t, uint32_t e, int k, int *value,
                   const int low, const int ends)
{
    int length, symbol = long_symbol(&length, t, e, b->top), size = symbol & 15, run = symbol >> 4;
    bits_drop(b, length);
    if (!length || size + low > 15) return MOVE_BAD;
    *value = size ? (int)((unsigned)take_value(b, size) << low) : 0;
    if (size) return k + run + 1;
    if (run == 15) return k + 16;
    if (run && !ends) return MOVE_BAD;
    *value = (1 << run) - 1 + (int)(b->top >> 1 >> (63 - run));
    bits_drop(b, run);
    return MOVE_END;
}

/* Whatever is next, alone: its index, or a MOVE_. */
LOOP int read_one(struct bits *b, const struct huffman *t, int k, int *value, const int low,
                  const int ends)
{
    bits_refill(b);
    uint32_t e = t->entry[b->top >> (64 - LOOK_BITS)];
    int move = e >> 8 & 255;
    *value = (int32_t)e >> 16;
    bits_drop(b, e & 63);
    if (move == MOVE_LONG) return read_long(b, t, e, k, value, low, ends);
    return move < MOVE_BAD ? k + move : move;
}

/* Coefficients behind `k`; end_run belongs to progressive scans. 1 when they are not regular. */
LOOP int read_ac(struct bits *b, const struct huffman *t, const struct block to, int k,
                 uint32_t *end_run)
{
    for (;;) {
        uint32_t e;
        bits_refill(b); /* five lookups fit 56 bits */
        if (step(b, t, &to, &k, &e) && step(b, t, &to, &k, &e) && step(b, t, &to, &k, &e) &&
            step(b, t, &to, &k, &e) && step(b, t, &to, &k, &e))
            continue;
        int first = e >> PAIR_FIRST & 31, moves = e >> PAIR_MOVES & 255, value;
        if (likely(moves < MOVE_LONG && moves >= MOVE_END && k + first < to.last)) {
            if (first) put(&to, k + first, (int)((unsigned)pair_value(e) << to.low));
            if (end_run) *end_run = (uint32_t)pair_second(e);
            bits_drop(b, e & 63);
            return 0;
        }
        k = read_one(b, t, k, &value, to.low, end_run != NULL);
        if (k == MOVE_END) {
            if (end_run) *end_run = (uint32_t)value;
            return 0;
        }
        if (k > to.last) return 1;
        if (value) put(&to, k, value);
        if (k == to.last) return 0;
    }
}
