/* entropy_avx2.c - the decoding loops with shifts that need no fixed register, `pdep` to place
 * bits, and masks over whole blocks. */
#include "image/jpeg/entropy.h"

#include <immintrin.h>

#define NAME(x) x##_bmi2
#define TARGET  __attribute__((target("bmi,bmi2,lzcnt,popcnt")))
#define LOOP    static inline __attribute__((always_inline, target("bmi,bmi2,lzcnt,popcnt")))

LOOP uint64_t deposit(uint64_t from, uint64_t to)
{
    return _pdep_u64(from, to);
}

/* All ones in the words whose bit is set. */
LOOP __m256i words_of(uint64_t mask)
{
    const __m256i each = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                           8192, 16384, -32768);
    __m256i all = _mm256_set1_epi16((short)mask);
    return _mm256_cmpeq_epi16(_mm256_and_si256(all, each), each);
}

LOOP void apply(int16_t *block, struct change c, int bit)
{
    uint64_t changed = c.away | c.placed;
    for (int i = 0; changed && i < 64; i += 16) {
        __m256i *at = (__m256i *)(void *)(block + i), x = _mm256_loadu_si256(at);
        __m256i delta = _mm256_and_si256(words_of(changed >> i), _mm256_set1_epi16((short)bit));
        __m256i down = _mm256_or_si256(_mm256_srai_epi16(x, 15), words_of(c.negative >> i));
        delta = _mm256_sub_epi16(_mm256_xor_si256(delta, down), down);
        _mm256_storeu_si256(at, _mm256_add_epi16(x, delta));
    }
}

#include "image/jpeg/entropy_loops.h"
