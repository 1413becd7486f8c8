/* tile_avx512.c - the micro-kernel for AVX-512, in assembly so that every compiler keeps the
 * sums in registers: up to 14 rows by 32 columns are 28 of the 32, two hold a row of b and two
 * take turns with a broadcast number of a. Per step of k that is 28 multiply-adds on 16 loads,
 * so the two multiply-add ports are the limit as long as b comes from L1 and a from L2. Four
 * steps at a time, with two prefetches: `ahead`, and the sums of the next tile, which lie behind
 * those of this one (c points there once they are loaded). */
#include "tensor/cpu/kernels.h"

/* clang-format off */
/* Rows go in threes over one pointer: base, base + lda, base + 2 lda. Sums of row r stand in
 * zmm(4+2r) and zmm(5+2r). */
#define FMA(lo, hi, at, x)                                                                         \
    "vbroadcastss " at ", %%zmm" x "\n"                                                            \
    "vfmadd231ps %%zmm0, %%zmm" x ", %%zmm" lo "\n"                                                \
    "vfmadd231ps %%zmm1, %%zmm" x ", %%zmm" hi "\n"
#define ROW_0(p, d, lo, hi, x) FMA(lo, hi, d "(%[" p "])", x)
#define ROW_1(p, d, lo, hi, x) FMA(lo, hi, d "(%[" p "],%[lda])", x)
#define ROW_2(p, d, lo, hi, x) FMA(lo, hi, d "(%[" p "],%[lda],2)", x)
#define ROWS_1(d)              ROW_0("a0", d, "4", "5", "2")
#define ROWS_2(d)              ROWS_1(d) ROW_1("a0", d, "6", "7", "3")
#define ROWS_3(d)              ROWS_2(d) ROW_2("a0", d, "8", "9", "2")
#define ROWS_4(d)              ROWS_3(d) ROW_0("a3", d, "10", "11", "3")
#define ROWS_5(d)              ROWS_4(d) ROW_1("a3", d, "12", "13", "2")
#define ROWS_6(d)              ROWS_5(d) ROW_2("a3", d, "14", "15", "3")
#define ROWS_7(d)              ROWS_6(d) ROW_0("a6", d, "16", "17", "2")
#define ROWS_8(d)              ROWS_7(d) ROW_1("a6", d, "18", "19", "3")
#define ROWS_9(d)              ROWS_8(d) ROW_2("a6", d, "20", "21", "2")
#define ROWS_10(d)             ROWS_9(d) ROW_0("a9", d, "22", "23", "3")
#define ROWS_11(d)             ROWS_10(d) ROW_1("a9", d, "24", "25", "2")
#define ROWS_12(d)             ROWS_11(d) ROW_2("a9", d, "26", "27", "3")
#define ROWS_13(d)             ROWS_12(d) ROW_0("a12", d, "28", "29", "2")
#define ROWS_14(d)             ROWS_13(d) ROW_1("a12", d, "30", "31", "3")

/* Sums of rows 0..n-1: to zero, from c, to c. Walking c uses up the pointer. */
#define ZERO(lo, hi)                                                                               \
    "vpxord %%zmm" lo ", %%zmm" lo ", %%zmm" lo "\nvpxord %%zmm" hi ", %%zmm" hi ", %%zmm" hi "\n"
#define LOAD(lo, hi)                                                                               \
    "vmovups (%[c]), %%zmm" lo "\nvmovups 64(%[c]), %%zmm" hi "\nadd %[ldc], %[c]\n"
#define SAVE(lo, hi)                                                                               \
    "vmovups %%zmm" lo ", (%[c])\nvmovups %%zmm" hi ", 64(%[c])\nadd %[ldc], %[c]\n"
#define SUMS_1(DO)  DO("4", "5")
#define SUMS_2(DO)  SUMS_1(DO) DO("6", "7")
#define SUMS_3(DO)  SUMS_2(DO) DO("8", "9")
#define SUMS_4(DO)  SUMS_3(DO) DO("10", "11")
#define SUMS_5(DO)  SUMS_4(DO) DO("12", "13")
#define SUMS_6(DO)  SUMS_5(DO) DO("14", "15")
#define SUMS_7(DO)  SUMS_6(DO) DO("16", "17")
#define SUMS_8(DO)  SUMS_7(DO) DO("18", "19")
#define SUMS_9(DO)  SUMS_8(DO) DO("20", "21")
#define SUMS_10(DO) SUMS_9(DO) DO("22", "23")
#define SUMS_11(DO) SUMS_10(DO) DO("24", "25")
#define SUMS_12(DO) SUMS_11(DO) DO("26", "27")
#define SUMS_13(DO) SUMS_12(DO) DO("28", "29")
#define SUMS_14(DO) SUMS_13(DO) DO("30", "31")

#define STEP(n, d, row)                                                                            \
    "vmovups " row "(%[b]), %%zmm0\nvmovups " row "+64(%[b]), %%zmm1\n" ROWS_##n(d)
#define FORWARD(bytes)                                                                             \
    "add $" bytes ", %[a0]\nadd $" bytes ", %[a3]\nadd $" bytes ", %[a6]\n"                        \
    "add $" bytes ", %[a9]\nadd $" bytes ", %[a12]\n"

#define FIELD(name) "%c[" #name "](%[t])" /* of the struct tile, so that it takes no register */
#define TILE(n)                                                                                    \
    static void tile_##n(const struct tile *t)                                                     \
    {                                                                                              \
        float *c = t->c;                                                                           \
        const float *b = t->b;                                                                     \
        const float *a0 = t->a, *a3 = a0 + 3 * t->lda, *a6 = a0 + 6 * t->lda,                      \
                    *a9 = a0 + 9 * t->lda, *a12 = a0 + 12 * t->lda;                                \
        const char *ahead = t->ahead;                                                              \
        int64_t count = t->k / 4;                                                                  \
        __asm__ volatile(                                                                          \
            "cmpl $0, " FIELD(more) "\nje 1f\n" SUMS_##n(LOAD) "jmp 2f\n"                          \
            "1:\n" SUMS_##n(ZERO)                                                                  \
            "2: test %[count], %[count]\nje 4f\n"                                                  \
            ".p2align 5\n"                                                                         \
            "3:\n"                                                                                 \
            STEP(n, "0", "0") "prefetcht1 (%[ahead])\nadd " FIELD(step) ", %[ahead]\n"             \
            STEP(n, "4", "128") "prefetcht0 (%[c])\nadd $64, %[c]\n"                               \
            STEP(n, "8", "256")                                                                    \
            STEP(n, "12", "384")                                                                   \
            FORWARD("16") "add $512, %[b]\ndec %[count]\njne 3b\n"                                 \
            "4: mov " FIELD(k) ", %[count]\nand $3, %[count]\nje 6f\n"                             \
            "5:\n" STEP(n, "0", "0") FORWARD("4") "add $128, %[b]\ndec %[count]\njne 5b\n"         \
            "6: mov " FIELD(home) ", %[c]\n" SUMS_##n(SAVE) "vzeroupper\n"                         \
            : [c] "+r"(c), [b] "+r"(b), [a0] "+r"(a0), [a3] "+r"(a3), [a6] "+r"(a6),               \
              [a9] "+r"(a9), [a12] "+r"(a12), [ahead] "+r"(ahead), [count] "+r"(count)             \
            : [lda] "r"(t->lda * 4), [ldc] "r"(t->ldc * 4), [t] "r"(t),                            \
              [home] "i"(offsetof(struct tile, c)), [step] "i"(offsetof(struct tile, step)),       \
              [more] "i"(offsetof(struct tile, more)), [k] "i"(offsetof(struct tile, k))           \
            : "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7",      \
              "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16",       \
              "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25",     \
              "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31");                               \
    }
/* clang-format on */

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)

void tile_avx512(const struct tile *t)
{
    static void (*const tile[])(const struct tile *) = {
        NULL,   tile_1, tile_2,  tile_3,  tile_4,  tile_5,  tile_6, tile_7,
        tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14};
    tile[t->rows](t);
}
