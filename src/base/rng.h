/* rng.h - a small seeded generator (splitmix64): same seed, same numbers, everywhere. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <math.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double rng_unit(struct rng *r) /* [0,1) */
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

static inline uint64_t rng_below(struct rng *r, uint64_t n) /* bias below 2^-32 for n < 2^32 */
{
    return (uint64_t)(((unsigned __int128)rng_u64(r) * n) >> 64);
}

static inline double rng_normal(struct rng *r) /* Box-Muller, one of the pair */
{
    double u = 1 - rng_unit(r), v = rng_unit(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

#endif
