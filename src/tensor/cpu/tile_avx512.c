/* tile_avx512.c - the micro-kernel for AVX-512, in assembly so that every compiler keeps the
 * sums in registers: up to 14 rows by 32 columns are 28 of the 32, two hold a row of b and two
 * take turns with a broadcast number of a. A step of k is 28 multiply-adds, 23 loads and 37
 * instructions, so the two multiply-add ports are the limit, as long as b comes from L1 and a
 * from L2, even where another thread of the core takes half of the front end. Eight steps at a
 * time, with prefetches: two of `ahead`, and one of the sums of the next tile, which lie behind
 * those of this one (c points there once they are loaded). */
#include "tensor/cpu/kernels.h"

/* clang-format off */
/* Rows go in pairs over one pointer: p and p + lda. Sums of row r stand in zmm(4+2r) and
 * zmm(5+2r). The first row of a pair is broadcast by the multiply-adds themselves: one load
 * more, one instruction less. The second would gain nothing: an operand with an index is issued
 * apart from its instruction. */
#define EVEN(p, d, lo, hi)                                                                         \
    "vfmadd231ps " d "(%[" p "])%{1to16%}, %%zmm0, %%zmm" lo "\n"                                  \
    "vfmadd231ps " d "(%[" p "])%{1to16%}, %%zmm1, %%zmm" hi "\n"
#define ODD(p, d, lo, hi, x)                                                                       \
    "vbroadcastss " d "(%[" p "],%[lda]), %%zmm" x "\n"                                            \
    "vfmadd231ps %%zmm0, %%zmm" x ", %%zmm" lo "\n"                                                \
    "vfmadd231ps %%zmm1, %%zmm" x ", %%zmm" hi "\n"
#define ROWS_1(d)              EVEN("a0", d, "4", "5")
#define ROWS_2(d)              ROWS_1(d) ODD("a0", d, "6", "7", "2")
#define ROWS_3(d)              ROWS_2(d) EVEN("a2", d, "8", "9")
#define ROWS_4(d)              ROWS_3(d) ODD("a2", d, "10", "11", "3")
#define ROWS_5(d)              ROWS_4(d) EVEN("a4", d, "12", "13")
#define ROWS_6(d)              ROWS_5(d) ODD("a4", d, "14", "15", "2")
#define ROWS_7(d)              ROWS_6(d) EVEN("a6", d, "16", "17")
#define ROWS_8(d)              ROWS_7(d) ODD("a6", d, "18", "19", "3")
#define ROWS_9(d)              ROWS_8(d) EVEN("a8", d, "20", "21")
#define ROWS_10(d)             ROWS_9(d) ODD("a8", d, "22", "23", "2")
#define ROWS_11(d)             ROWS_10(d) EVEN("a10", d, "24", "25")
#define ROWS_12(d)             ROWS_11(d) ODD("a10", d, "26", "27", "3")
#define ROWS_13(d)             ROWS_12(d) EVEN("a12", d, "28", "29")
#define ROWS_14(d)             ROWS_13(d) ODD("a12", d, "30", "31", "2")

/* Sums of rows 0..n-1: to zero, from c, to c. Walking c uses up the pointer. */
#define ZERO(lo, hi)                                                                               \
    "vpxord %%zmm" lo ", %%zmm" lo ", %%zmm" lo "\nvpxord %%zmm" hi ", %%zmm" hi ", %%zmm" hi "\n"
#define LOAD(lo, hi)                                                                               \
    "vmovups (%[c]), %%zmm" lo "\nvmovups 64(%[c]), %%zmm" hi "\nadd %[count], %[c]\n"
#define SAVE(lo, hi)                                                                               \
    "vmovups %%zmm" lo ", (%[c])\nvmovups %%zmm" hi ", 64(%[c])\nadd %[count], %[c]\n"
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
    "add $" bytes ", %[a0]\nadd $" bytes ", %[a2]\nadd $" bytes ", %[a4]\n"                        \
    "add $" bytes ", %[a6]\nadd $" bytes ", %[a8]\nadd $" bytes ", %[a10]\n"                       \
    "add $" bytes ", %[a12]\n"

#define FIELD(name) "%c[" #name "](%[t])" /* of the struct tile, so that it takes no register */
#define TILE(n)                                                                                    \
    static void tile_##n(const struct tile *t)                                                     \
    {                                                                                              \
        float *c = t->c;                                                                           \
        const float *b = t->b;                                                                     \
        const float *a0 = t->a, *a2 = a0 + 2 * t->lda, *a4 = a0 + 4 * t->lda,                      \
                    *a6 = a0 + 6 * t->lda, *a8 = a0 + 8 * t->lda, *a10 = a0 + 10 * t->lda,         \
                    *a12 = a0 + 12 * t->lda;                                                       \
        const char *ahead = t->ahead;                                                              \
        int64_t count;                                                                             \
        __asm__ volatile(                                                                          \
            "mov " FIELD(ldc) ", %[count]\nshl $2, %[count]\n"                                     \
            "cmpl $0, " FIELD(more) "\nje 1f\n" SUMS_##n(LOAD) "jmp 2f\n"                          \
            "1:\n" SUMS_##n(ZERO)                                                                  \
            "2: mov " FIELD(k) ", %[count]\nshr $3, %[count]\nje 4f\n"                             \
            ".p2align 5\n"                                                                         \
            "3:\n"                                                                                 \
            STEP(n, "0", "0") "prefetcht1 (%[ahead])\nadd " FIELD(step) ", %[ahead]\n"             \
            STEP(n, "4", "128") "prefetcht0 (%[c])\nadd $32, %[c]\n"                               \
            STEP(n, "8", "256")                                                                    \
            STEP(n, "12", "384")                                                                   \
            STEP(n, "16", "512") "prefetcht1 (%[ahead])\nadd " FIELD(step) ", %[ahead]\n"          \
            STEP(n, "20", "640")                                                                   \
            STEP(n, "24", "768")                                                                   \
            STEP(n, "28", "896")                                                                   \
            FORWARD("32") "add $1024, %[b]\ndec %[count]\njne 3b\n"                                \
            "4: mov " FIELD(k) ", %[count]\nand $7, %[count]\nje 6f\n"                             \
            "5:\n" STEP(n, "0", "0") FORWARD("4") "add $128, %[b]\ndec %[count]\njne 5b\n"         \
            "6: mov " FIELD(home) ", %[c]\n"                                                       \
            "mov " FIELD(ldc) ", %[count]\nshl $2, %[count]\n" SUMS_##n(SAVE) "vzeroupper\n"       \
            : [c] "+r"(c), [b] "+r"(b), [a0] "+r"(a0), [a2] "+r"(a2), [a4] "+r"(a4),               \
              [a6] "+r"(a6), [a8] "+r"(a8), [a10] "+r"(a10), [a12] "+r"(a12),                      \
              [ahead] "+r"(ahead), [count] "=&r"(count)                                            \
            : [lda] "r"(t->lda * 4), [t] "r"(t), [home] "i"(offsetof(struct tile, c)),             \
              [ldc] "i"(offsetof(struct tile, ldc)), [step] "i"(offsetof(struct tile, step)),      \
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
