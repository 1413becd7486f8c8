/* Option tables: spellings, types, defaults, errors that help. */
#include "test.h"
#include "base/err.h"
#include "base/opt.h"

struct options {
    int flag, boolean, tri, choice;
    int64_t count;
    uint64_t size;
    double real;
    const char *word;
    struct opt_list list;
};
#define AT(f) offsetof(struct options, f)

static const struct opt table[] = {
    {"flag", NULL, 'f', OPT_FLAG, AT(flag), NULL, NULL, "", 0},
    {"enable-text", NULL, 0, OPT_BOOL, AT(boolean), "true", NULL, "", 0},
    {"tri", NULL, 0, OPT_BOOL, AT(tri), "auto", NULL, "", 0},
    {"choice", NULL, 0, OPT_CHOICE, AT(choice), "b", "a|b|long", "", OPT_PRINTED},
    {"count", "number,how-many", 'n', OPT_INT, AT(count), "7", "N", "", 0},
    {"size", NULL, 0, OPT_SIZE, AT(size), "4G", "SIZE", "", 0},
    {"real", NULL, 0, OPT_FLOAT, AT(real), "0.5", "X", "", 0},
    {"word", NULL, 'o', OPT_STR, AT(word), NULL, "W", "", 0},
    {"head", NULL, 0, OPT_LIST, AT(list), NULL, "H", "", 0},
    OPT_END};
static const struct opt_set set = {{table, NULL}};

static int parse(struct options *o, const char **args, int *nargs, const char *line)
{
    static char copy[512];
    char *argv[32], *save = NULL;
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) argv[argc++] = w;
    memset(o, 0, sizeof *o);
    opt_defaults(&set, o);
    return opt_parse(&set, o, args, nargs, argc, argv);
}

TEST(defaults)
{
    struct options o;
    const char *args[32];
    int n;
    CHECK_INT(parse(&o, args, &n, ""), 0);
    CHECK_INT(o.flag, 0);
    CHECK_INT(o.boolean, 1);
    CHECK_INT(o.tri, -1);
    CHECK_INT(o.choice, 1);
    CHECK_INT(o.count, 7);
    CHECK_INT(o.size, 4ll << 30);
    CHECK_NEAR(o.real, 0.5, 0);
}

TEST(spellings)
{
    struct options o;
    const char *args[32];
    int n;
    CHECK_INT(
        parse(
            &o, args, &n,
            "in --enable_text=False --how_many 1e6 -f -oout --size=1.5MiB --choice LONG --tri yes "
            "--head a --head=b -- --not-an-option"),
        0);
    CHECK_INT(n, 2);
    CHECK_STR(args[0], "in");
    CHECK_STR(args[1], "--not-an-option");
    CHECK_INT(o.boolean, 0);
    CHECK_INT(o.count, 1000000);
    CHECK_INT(o.flag, 1);
    CHECK_STR(o.word, "out");
    CHECK_INT(o.size, 3 << 19);
    CHECK_INT(o.choice, 2);
    CHECK_INT(o.tri, 1);
    CHECK_INT(o.list.count, 2);
    opt_release(&set, &o);
}

TEST(errors_help)
{
    static const char *const bad[][2] = {{"--cout 3", "did you mean --count"},
                                         {"--count", "needs a value"},
                                         {"--count three", "whole number"},
                                         {"--count 1.5", "whole number"},
                                         {"--size lots", "512M"},
                                         {"--choice c", "a|b|long"},
                                         {"--enable-text maybe", "true or false"},
                                         {"-z", "no option -z"},
                                         {"--count 99999999999999999999", "whole number"},
                                         {"--size -1", "512M"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct options o;
        const char *args[32];
        int n;
        CHECK_INT(parse(&o, args, &n, bad[i][0]), ERR_USAGE);
        if (!strstr(err_text(), bad[i][1])) TEST_FAIL("'%s' says '%s'", bad[i][0], err_text());
        opt_release(&set, &o);
    }
}

TEST(values_print_as_typed)
{
    struct options o;
    struct str s = {0};
    memset(&o, 0, sizeof o);
    opt_defaults(&set, &o);
    for (const struct opt *p = table; p->name; p++) {
        opt_print(&s, p, &o);
        str_putc(&s, ' ');
    }
    CHECK_STR(s.p, "false true auto b 7 4294967296 0.5   ");
    str_release(&s);
}

TEST_MAIN
