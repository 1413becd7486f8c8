/* pickle: values of protocols 2 to 5, calls that stay unmade, and the limits. */
#include "test.h"
#include "base/err.h"
#include "base/str.h"
#include "format/pickle.h"

#include <unistd.h>

static struct arena arena;

static int decode(struct pickle **v, const void *p, size_t n)
{
    size_t used;
    unsigned char *exact = malloc(n ? n : 1); /* so that ASan sees a step outside */
    memcpy(exact, p, n);
    int rc = pickle_decode(v, NULL, &used, &arena, exact, n);
    static unsigned char *held; /* the tree borrows its text */
    free(held);
    held = exact;
    return rc;
}
#define DECODE(v, text) decode(&(v), text, sizeof(text) - 1)

TEST(scalars)
{
    struct pickle *v;
    CHECK_INT(DECODE(v, "\x80\x02K\x07."), 0);
    CHECK_INT(v->i, 7);
    CHECK_INT(DECODE(v, "\x80\x02J\xff\xff\xff\xff."), 0);
    CHECK_INT(v->i, -1);
    CHECK_INT(DECODE(v, "M\xff\xff."), 0);
    CHECK_INT(v->i, 65535);
    CHECK_INT(DECODE(v, "\x8a\x05\x00\x00\x00\x00\x80."), 0);
    CHECK_INT(v->i, -549755813888LL);
    CHECK_INT(DECODE(v, "\x8a\x00."), 0);
    CHECK_INT(v->i, 0);
    CHECK_INT(DECODE(v, "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."), 0);
    CHECK_INT(v->kind, PICKLE_BIG);
    CHECK_INT(DECODE(v, "G\x3f\xf8\x00\x00\x00\x00\x00\x00."), 0);
    CHECK_NEAR(v->f, 1.5, 0);
    CHECK_INT(DECODE(v, "\x88."), 0);
    CHECK(v->kind == PICKLE_BOOL && v->i == 1);
    CHECK_INT(DECODE(v, "N."), 0);
    CHECK_INT(v->kind, PICKLE_NONE);
    CHECK_INT(DECODE(v, "X\x03\x00\x00\x00"
                        "abc."),
              0);
    CHECK(pickle_text_is(v, "abc"));
    CHECK_INT(DECODE(v, "C\x02hi."), 0);
    CHECK(v->kind == PICKLE_BYTES && v->text.n == 2);
    arena_reset(&arena);
}

TEST(containers)
{
    struct pickle *v;
    CHECK_INT(DECODE(v, "\x80\x02}q\x00(X\x01\x00\x00\x00"
                        "a]q\x01(K\x01K\x02"
                        "eX\x01\x00\x00\x00"
                        "b(K\x03K\x04K\x05K\x06tu."),
              0);
    CHECK_INT(pickle_pairs(v)->count, 4);
    CHECK_INT(pickle_item(pickle_get(v, "a"), 1)->i, 2);
    CHECK_INT(pickle_item(pickle_get(v, "b"), 3)->i, 6);
    CHECK(pickle_get(v, "c") == NULL && pickle_item(v, 0) == NULL);
    CHECK_INT(DECODE(v, "K\x01K\x02K\x03\x87\x85."), 0);
    CHECK_INT(pickle_item(pickle_item(v, 0), 2)->i, 3);
    CHECK_INT(DECODE(v, "]q\x00h\x00"
                        "a."),
              0); /* a list that holds itself */
    CHECK(pickle_item(v, 0) == v);
    arena_reset(&arena);
}

TEST(calls_are_written_down_not_made)
{
    struct pickle *v;
    unlink("/tmp/darkroom-canary");
    CHECK_INT(DECODE(v, "\x80\x02"
                        "cposix\nsystem\nX\x1a\x00\x00\x00touch /tmp/darkroom-canary\x85R."),
              0);
    CHECK_INT(v->kind, PICKLE_OBJECT);
    CHECK(pickle_is(v->object->callee, "posix", "system"));
    CHECK(access("/tmp/darkroom-canary", F_OK) != 0);
    CHECK_INT(DECODE(v, "\x8c\x02os\x8c\x06system\x93)\x81}b."), 0);
    CHECK(pickle_is(v->object->callee, "os", "system") && v->object->state->kind == PICKLE_DICT);
    CHECK_INT(DECODE(v, "ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00kK\x05u."), 0);
    CHECK_INT(pickle_get(v, "k")->i, 5);
    CHECK_INT(DECODE(v, "ccollections\nOrderedDict\n](](U\x01kK\x05"
                        "ee\x85R."),
              0); /* Python 2 */
    CHECK_INT(pickle_get(v, "k")->i, 5);
    arena_reset(&arena);
}

TEST(broken_programs)
{
    static const struct {
        const char *p;
        size_t n;
    } bad[] = {
#define P(s) {s, sizeof(s) - 1}
        P(""),
        P("."),
        P("N"),
        P("NN."),
        P("(."),
        P("t."),
        P("e."),
        P("u."),
        P("]Ka"),
        P("]a."),
        P("}s."),
        P("}K\x01s."),
        P("}(K\x01u."),
        P("K\x01K\x02"
          "a."),
        P("K\x01K\x02K\x03s."),
        P("R."),
        P("NR."),
        P("NNR."),
        P("cos\nsystem\nNR."),
        P("\x81."),
        P("\x92."),
        P("b."),
        P("Nb."),
        P("NNb."),
        P("]}b."),
        P("Q."),
        P("0."),
        P("1."),
        P("2."),
        P("\x85."),
        P("N\x86."),
        P("NN\x87."),
        P("h\x00."),
        P("j\x00\x00\x00\x00."),
        P("q\x00."),
        P("Nq\x00h\x01\x30."),
        P("Nr\xff\xff\xff\xff."),
        P("\x94."),
        P("\x93."),
        P("NN\x93."),
        P("cos\nsystem"),
        P("cos"),
        P("\x80\x06."),
        P("\x80"),
        P("X\xff\xff\xff\xff."),
        P("X\x05\x00\x00\x00"
          "ab."),
        P("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
        P("B\x00\x00\x00\x02."),
        P("U\x02"
          "a"),
        P("\x8b\xff\xff\xff\x7f."),
        P("\x8a\x02\x00"),
        P("G\x00\x00."),
        P("J\x00."),
        P("M\x00"),
        P("\x95\xff\x00\x00\x00\x00\x00\x00\x00N."),
        P("(N(1."),
        P("N(\x85."),
        P("]N(a."),
        /* opcodes that exist but are never needed: INST, OBJ, INT, LONG, STRING, PUT, GET, EXT,
         * PERSID, NEXT_BUFFER */
        P("(ios\nsystem\n."),
        P("(cos\nsystem\no."),
        P("I1\n."),
        P("L1L\n."),
        P("S'a'\n."),
        P("Np0\n."),
        P("g0\n."),
        P("\x82\x01."),
        P("Pid\n."),
        P("\x97."),
        P("F1.5\n."),
        P("Va\n."),
#undef P
    };
    struct pickle *v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (decode(&v, bad[i].p, bad[i].n) != ERR_INPUT) TEST_FAIL("program %zu is accepted", i);
    arena_reset(&arena);
}

static void fill(struct str *s, const char *piece, size_t n, size_t times)
{
    str_reserve(s, n * times);
    while (times--) str_add(s, piece, n);
}

TEST(limits)
{
    struct str s = {0};
    struct pickle *v;
    fill(&s, "(", 1, PICKLE_NEST_MAX + 1); /* nesting */
    CHECK_INT(decode(&v, s.p, s.len), ERR_INPUT);
    CHECK(strstr(err_text(), "nested") != NULL);
    str_clear(&s);
    fill(&s, "N", 1, PICKLE_STACK_MAX + 1);
    CHECK_INT(decode(&v, s.p, s.len), ERR_INPUT);
    CHECK(strstr(err_text(), "stack") != NULL);
    str_clear(&s);
    str_puts(&s, "]");
    fill(&s,
         "K\x01"
         "a",
         3, 20 << 20); /* 60 MiB that ask for more than 512 MiB of values */
    CHECK_INT(decode(&v, s.p, s.len), ERR_INPUT);
    CHECK(strstr(err_text(), "too many values") != NULL);
    arena_release(&arena);
    str_clear(&s);
    fill(&s, "N0", 2, (PICKLE_BYTES_MAX / 2) + 1);
    str_puts(&s, "N.");
    CHECK_INT(decode(&v, s.p, s.len), ERR_INPUT);
    CHECK(strstr(err_text(), "more than 67108864 bytes") != NULL);
    str_release(&s);
    CHECK_INT(DECODE(v, "Nr\xff\xff\x3f\x00."), 0); /* the last place of the memo */
    CHECK_INT(DECODE(v, "Nr\x00\x00\x40\x00."), ERR_INPUT);
    CHECK_INT(DECODE(v, "X\x01\x00\x00\x01."), ERR_INPUT); /* a string of 16 MiB and a byte */
    CHECK(strstr(err_text(), "too long") != NULL);
    arena_reset(&arena);
}

/* Every opcode byte behind every small stack: nothing but an answer or an error. */
TEST(every_opcode_on_every_small_stack)
{
    static const char *const stacks[] = {"",
                                         "N",
                                         "K\x01K\x02",
                                         "]",
                                         "}N",
                                         "(NN",
                                         "]((N",
                                         ")",
                                         "cos\nsystem\n)",
                                         "X\x01\x00\x00\x00x",
                                         "(",
                                         "NQ"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        for (int op = 0; op < 256; op++) {
            char program[64];
            struct pickle *v;
            size_t n = strlen(stacks[i]);
            if (i == 9) n = 6; /* the string has NULs inside */
            memcpy(program, stacks[i], n);
            program[n] = (char)op;
            memcpy(program + n + 1, "\x01\x00\x00\x00\x00\x00\x00\x00z.", 10);
            for (size_t len = 0; len <= n + 11; len++) decode(&v, program, len);
            arena_reset(&arena);
        }
}

TEST(persistent_ids_are_listed)
{
    static const char text[] = "\x80\x02](K\x05QK\x06Qe.";
    struct pickle_items ids = {0};
    struct pickle *v;
    size_t used;
    CHECK_INT(pickle_decode(&v, &ids, &used, &arena, text, sizeof text - 1), 0);
    CHECK_INT(used, sizeof text - 1);
    CHECK_INT(ids.count, 2);
    CHECK_INT(ids.list[1]->id->i, 6);
    arena_release(&arena);
}

TEST_MAIN
