/* hash.c - thin covers over OpenSSL, xxhash and zlib. */
#include "base/hash.h"
#include "base/crc.h"

#include <assert.h>
#include <openssl/evp.h>
#include <xxhash.h>
#include <zlib.h>

uint64_t hash64(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

/* zlib inverts the register before and after; 0xffffffff therefore starts it at 0. */
uint32_t hash_crc32(uint32_t crc, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    if (!n) return crc;
    if (n >= 256 && isa_best() >= ISA_AVX2 && __builtin_cpu_supports("pclmul")) {
        unsigned char rest[16];
        size_t done = crc_fold(rest, ~crc, bytes, n);
        crc = (uint32_t)crc32_z(0xffffffff, rest, sizeof rest);
        bytes += done, n -= done;
        if (!n) return crc;
    }
    return (uint32_t)crc32_z(crc, bytes, n);
}

void sha256_init(struct sha256 *h)
{
    h->ctx = EVP_MD_CTX_new();
    int ok = h->ctx && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL);
    assert(ok);
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
    int ok = EVP_DigestUpdate(h->ctx, p, n);
    assert(ok);
}

void sha256_end(struct sha256 *h, char hex[65])
{
    unsigned char d[32];
    int ok = EVP_DigestFinal_ex(h->ctx, d, NULL);
    assert(ok);
    for (int i = 0; i < 32; i++) {
        hex[2 * i] = "0123456789abcdef"[d[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[d[i] & 15];
    }
    hex[64] = 0;
    sha256_release(h);
}

void sha256_release(struct sha256 *h)
{
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
}

void sha256_of(char hex[65], const void *p, size_t n)
{
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, p, n);
    sha256_end(&h, hex);
}
