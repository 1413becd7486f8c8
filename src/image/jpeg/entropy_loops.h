/* entropy_loops.h - the loops of entropy.h, included once per instruction set by files that say
 * what NAME, TARGET, deposit() and apply() are. Bits live in registers; one comparison per
 * coefficient finds the last one, the end of the block and codes that the lookup does not hold. */

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

LOOP int read_whole(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        for (int i = 0; i < s->slots; i++) {
            struct block where = {store ? block_of(s, i, m) : NULL, NULL, store, 63, 0};
            int dc = read_dc(s, &b, &s->slot[i], &bad);
            if (store) where.out[0] = (int16_t)dc;
            bad |= read_ac(&b, s->slot[i].ac, where, 0, NULL);
        }
    }
    s->segment.bits = b;
    return bad;
}

LOOP int read_dcs(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        for (int i = 0; i < s->slots; i++) {
            int dc = read_dc(s, &b, &s->slot[i], &bad);
            if (store) block_of(s, i, m)[63] = (int16_t)((unsigned)dc << s->low);
        }
    }
    s->segment.bits = b;
    return bad;
}

LOOP int read_dc_bits(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    for (int m = from; m < to; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        bits_refill(&b);
        for (int i = 0; i < s->slots; i++) {
            if (store) block_of(s, i, m)[63] |= (int16_t)(b.top >> 63 << s->low);
            bits_drop(&b, 1);
        }
    }
    s->segment.bits = b;
    return 0;
}

LOOP int read_band(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    uint32_t end_run = s->end_run;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (end_run) {
            uint32_t n = end_run < (uint32_t)(to - m) ? end_run : (uint32_t)(to - m);
            end_run -= n;
            m += (int)n - 1;
            continue;
        }
        if (!segment_ready(&s->segment, &b)) return 1;
        uint64_t found = 0;
        struct block where = {store ? block_of(s, 0, m) : NULL, &found, store, s->last, s->low};
        bad = read_ac(&b, s->slot[0].ac, where, s->first - 1, &end_run);
        s->history[m] |= found;
    }
    s->end_run = end_run;
    s->segment.bits = b;
    return bad;
}

/* One bit for each of n coefficients in `which`, from the first to the last. */
LOOP uint64_t take_bits(struct bits *b, uint64_t which, int n)
{
    uint64_t v = b->top >> 1 >> (63 - n);
    bits_drop(b, n);
    return deposit(v, which);
}

/* The same; at least 39 bits are there. */
LOOP uint64_t corrections(struct bits *b, uint64_t which)
{
    int n = __builtin_popcountll(which);
    if (likely(n < 40)) return take_bits(b, which, n);
    bits_refill(b);
    uint64_t upper = which >> 32 << 32, lower = which ^ upper;
    upper = take_bits(b, upper, __builtin_popcountll(upper));
    bits_refill(b);
    return upper | take_bits(b, lower, __builtin_popcountll(lower));
}

/* An entry made by hand, for a code that the lookup did not hold; 17 bits at most are taken for a
 * coefficient. The bits of the code itself are dropped here. */
LOOP uint32_t long_refine(struct bits *b, const struct huffman *t, uint32_t e)
{
    int length, symbol = long_symbol(&length, t, e, b->top), run = symbol >> 4;
    bits_drop(b, length);
    if (!length || (symbol & 15) > 1) return MOVE_BAD << 8;
    if (symbol & 15) {
        uint32_t negative = b->top >> 63 ? 0 : REFINE_NEGATIVE;
        return 1 | (uint32_t)run << REFINE_RUN | REFINE_PLACED | negative;
    }
    if (run == 15) return 15u << REFINE_RUN;
    uint32_t ends = (1u << run) + (uint32_t)(b->top >> 1 >> (63 - run));
    return (uint32_t)run | MOVE_END << 8 | ends << 16;
}

/* The next bit of a block's band: codes place new coefficients among those still zero, and each
 * old one that is passed has a bit of its own. */
LOOP int refine_block(struct change *c, struct bits *b, const struct huffman *t, uint64_t old,
                      uint64_t band, uint32_t *end_run)
{
    uint64_t rest = band;
    while (!*end_run && rest) {
        bits_refill(b);
        uint32_t e = t->entry[b->top >> (64 - LOOK_BITS)];
        if (unlikely((e >> 8 & 255) == MOVE_LONG)) e = long_refine(b, t, e);
        bits_drop(b, e & 63);
        if (unlikely(e & 0xff00)) {
            *end_run = e >> 16;
            if ((e >> 8 & 255) == MOVE_BAD) return 1;
            break;
        }
        uint64_t zeros = rest & ~old;
        int count = __builtin_popcountll(zeros), run = e >> REFINE_RUN & 15;
        if (unlikely(run >= count)) return 1;
        uint64_t place = deposit(1ull << (count - 1 - run), zeros);
        c->away |= corrections(b, old & rest & -place);
        rest &= place - 1;
        c->placed |= e & REFINE_PLACED ? place : 0;
        c->negative |= e & REFINE_NEGATIVE ? place : 0;
    }
    if (!*end_run) return 0;
    --*end_run;
    bits_refill(b);
    c->away |= corrections(b, old & rest);
    return 0;
}

LOOP int read_band_bits(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    uint32_t end_run = s->end_run;
    uint64_t band = UINT64_MAX >> s->first & UINT64_MAX << (63 - s->last);
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        struct change c = {0, 0, 0};
        bad = refine_block(&c, &b, s->slot[0].ac, s->history[m] & band, band, &end_run);
        s->history[m] |= c.placed;
        if (store) apply(block_of(s, 0, m), c, 1 << s->low);
    }
    s->end_run = end_run;
    s->segment.bits = b;
    return bad;
}

TARGET static int NAME(keep_whole)(struct entropy *s, int from, int to)
{
    return read_whole(s, from, to, 1);
}

TARGET static int NAME(over_whole)(struct entropy *s, int from, int to)
{
    return read_whole(s, from, to, 0);
}

TARGET static int NAME(keep_dcs)(struct entropy *s, int from, int to)
{
    return read_dcs(s, from, to, 1);
}

TARGET static int NAME(over_dcs)(struct entropy *s, int from, int to)
{
    return read_dcs(s, from, to, 0);
}

TARGET static int NAME(keep_band)(struct entropy *s, int from, int to)
{
    return read_band(s, from, to, 1);
}

TARGET static int NAME(over_band)(struct entropy *s, int from, int to)
{
    return read_band(s, from, to, 0);
}

TARGET static int NAME(keep_dc_bits)(struct entropy *s, int from, int to)
{
    return read_dc_bits(s, from, to, 1);
}

TARGET static int NAME(over_dc_bits)(struct entropy *s, int from, int to)
{
    return read_dc_bits(s, from, to, 0);
}

TARGET static int NAME(keep_band_bits)(struct entropy *s, int from, int to)
{
    return read_band_bits(s, from, to, 1);
}

TARGET static int NAME(over_band_bits)(struct entropy *s, int from, int to)
{
    return read_band_bits(s, from, to, 0);
}

const struct entropy_loops NAME(entropy) = {
    .whole = {NAME(keep_whole), NAME(over_whole)},
    .dc = {NAME(keep_dcs), NAME(over_dcs)},
    .band = {NAME(keep_band), NAME(over_band)},
    .dc_bit = {NAME(keep_dc_bits), NAME(over_dc_bits)},
    .band_bit = {NAME(keep_band_bits), NAME(over_band_bits)},
};
