/* entropy.c - rows and restart markers around the decoding loops, and the loops for any machine. */
#include "image/jpeg/entropy.h"

#define NAME(x) x##_plain
#define TARGET
#define LOOP static inline __attribute__((always_inline))

/* The bits of `from`, lowest first, to where `to` has its ones. */
LOOP uint64_t deposit(uint64_t from, uint64_t to)
{
    uint64_t out = 0;
    for (; to; to &= to - 1, from >>= 1)
        if (from & 1) out |= to & -to;
    return out;
}

LOOP void apply(int16_t *block, struct change c, int bit)
{
    for (uint64_t left = c.away | c.placed; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        int down = block[i] < 0 || c.negative >> i & 1;
        block[i] = (int16_t)(block[i] + (down ? -bit : bit));
    }
}

#include "image/jpeg/entropy_loops.h"

const struct entropy_loops *entropy_loops_best(void)
{
    int bmi2 = isa_best() >= ISA_AVX2 && __builtin_cpu_supports("bmi2");
    return bmi2 ? &entropy_bmi2 : &entropy_plain;
}

static void forget(struct entropy *s)
{
    memset(s->dc, 0, sizeof s->dc);
    s->end_run = 0;
    s->to_restart = s->interval;
}

void entropy_start(struct entropy *s, int interval)
{
    segment_start(&s->segment);
    s->interval = interval;
    s->restarts = 0;
    forget(s);
}

/* The marker that stands before MCUs whose number is a multiple of the interval. */
static int restart(struct entropy *s)
{
    if (segment_next(&s->segment) != 0xd0 + s->restarts++ % 8) return 1;
    segment_start(&s->segment);
    forget(s);
    return 0;
}

static int read_range(struct entropy *s, entropy_fn *read, int from, int to)
{
    if (!s->interval) return read(s, from, to);
    while (from < to) {
        if (!s->to_restart && restart(s)) return 1;
        int n = to - from < s->to_restart ? to - from : s->to_restart;
        if (read(s, from, from + n)) return 1;
        s->to_restart -= n;
        from += n;
    }
    return 0;
}

/* Rows are handed over at once, so that zeros past the end must not have been taken for MCUs. */
int entropy_row(struct entropy *s, const struct entropy_loop *loop, int wide, int any)
{
    int from = any ? s->from : wide, to = any ? s->to : wide;
    return read_range(s, loop->step_over, 0, from) || read_range(s, loop->keep, from, to) ||
           read_range(s, loop->step_over, to, wide) || segment_left(&s->segment) < 0;
}
