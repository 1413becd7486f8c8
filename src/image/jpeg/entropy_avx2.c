/* entropy_avx2.c - the decoding loops with shifts that need no fixed register, and `pdep`. */
#include "image/jpeg/entropy.h"

#include <immintrin.h>

#define NAME(x) x##_bmi2
#define TARGET  __attribute__((target("bmi,bmi2,lzcnt,popcnt")))
#define LOOP    static inline __attribute__((always_inline, target("bmi,bmi2,lzcnt,popcnt")))

LOOP uint64_t deposit(uint64_t from, uint64_t to)
{
    return _pdep_u64(from, to);
}

#include "image/jpeg/entropy_loops.h"
