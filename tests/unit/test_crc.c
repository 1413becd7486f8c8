/* CRC-32: the folded way gives zlib's numbers for every length, start and split. */
#include "test.h"

#include "base/hash.h"
#include "base/rng.h"

#include <zlib.h>

TEST(known_value)
{
    CHECK_INT(hash_crc32(0, "123456789", 9), 0xcbf43926);
    CHECK_INT(hash_crc32(7, NULL, 0), 7); /* nothing changes nothing */
}

TEST(as_zlib)
{
    static unsigned char bytes[5000];
    struct rng rng = {1};
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)rng_u64(&rng);
    for (size_t n = 0; n < 1200; n++) {
        size_t at = n % 67, cut = n ? rng_below(&rng, n) : 0;
        uint32_t start = n % 3 ? (uint32_t)rng_u64(&rng) : 0;
        uint32_t want = n ? (uint32_t)crc32(start, bytes + at, (uInt)n) : start;
        CHECK_INT(hash_crc32(start, bytes + at, n), want);
        CHECK_INT(hash_crc32(hash_crc32(start, bytes + at, cut), bytes + at + cut, n - cut), want);
    }
    CHECK_INT(hash_crc32(0, bytes, sizeof bytes), crc32(0, bytes, sizeof bytes));
}

TEST(plain_set_agrees)
{
    unsigned char bytes[1000] = {1, 2, 3};
    uint32_t fast = hash_crc32(0, bytes, sizeof bytes);
    setenv("DARKROOM_ISA", "plain", 1);
    CHECK_INT(hash_crc32(0, bytes, sizeof bytes), fast);
    unsetenv("DARKROOM_ISA");
}

TEST_MAIN
