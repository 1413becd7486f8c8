/* entropy_refine.h - part of entropy_loops.h: the next bit of the coefficients of a block.
 * Which coefficients are not zero is a set of 64 bits. The place behind some zeros, and the bits of
 * the coefficients that are passed on the way there, are found by arithmetic on such sets. */

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
