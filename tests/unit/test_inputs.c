/* test_inputs.c - brace patterns and the words of a command line. */
#include "base/err.h"
#include "base/str.h"
#include "data/braces.h"
#include "data/inputs.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static void join(struct str *out, const struct names *n)
{
    str_clear(out);
    str_puts(out, "");
    for (size_t i = 0; i < n->count; i++) str_printf(out, "%s%s", i ? " " : "", n->list[i]);
}

TEST(braces)
{
    static const struct {
        const char *pattern, *names;
    } cases[] = {
        {"a", "a"},
        {"", ""},
        {"{1..3}", "1 2 3"},
        {"x{000..002}.tar", "x000.tar x001.tar x002.tar"},
        {"{07..10}", "07 08 09 10"},
        {"{0..10..5}", "0 5 10"},
        {"{10..0..-4}", "10 6 2"},
        {"{1..2..0}", "1 2"},
        {"{2..-1}", "2 1 0 -1"},
        {"{-01..1}", "-01 000 001"},
        {"{5..5}", "5"},
        {"{a..g..2}", "a c e g"},
        {"{c..a}", "c b a"},
        {"{Y..b}", "Y Z a b"},
        {"{a,b}{1,2}", "a1 a2 b1 b2"},
        {"{a,b{1..2},c{x,y}}", "a b1 b2 cx cy"},
        {"index.html{,.backup}", "index.html index.html.backup"},
        {"{a}", "{a}"},
        {"{}", "{}"},
        {"{a{1,2}b}", "{a1b} {a2b}"},
        {"{1..x}", "{1..x}"},
        {"{1..2..}", "{1..2..}"},
        {"{1..2,3}", "1..2 3"},
        {"{,}", " "},
        {"{1\\{2,3}", "1{2 3"},
        {"\\{1,2\\}", "{1,2}"},
        {"a\\,b{c\\,d,e}", "a,bc,d a,be"},
        {"pipe:aws s3 cp s3://b/{00..01}.tar -", "pipe:aws s3 cp s3://b/00.tar - "
                                                 "pipe:aws s3 cp s3://b/01.tar -"},
        {"end\\", "end\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct names n = {0};
        struct str s = {0};
        int rc = braces_expand(&n, cases[i].pattern, 100);
        join(&s, &n);
        if (rc || strcmp(s.p, cases[i].names)) TEST_FAIL("%s: %s", cases[i].pattern, s.p);
        names_release(&n);
        str_release(&s);
    }
}

TEST(braces_refused)
{
    static const char *const wrong[] = {"{",
                                        "}",
                                        "{a",
                                        "a}",
                                        "}{",
                                        "{1{2,3}",
                                        "{1..101}",
                                        "{1..100}{1,2}",
                                        "{1..999999999999999999}",
                                        "{-999999999999999999..999999999999999999}",
                                        "{{1..60},{1..60}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct names n = {0};
        if (braces_expand(&n, wrong[i], 100) != ERR_USAGE || n.count)
            TEST_FAIL("%s was taken", wrong[i]);
        names_release(&n);
    }
    struct str s = {0};
    struct names n = {0};
    for (int i = 0; i < 40; i++) str_puts(&s, "{a,");
    for (int i = 0; i < 40; i++) str_puts(&s, "}");
    CHECK_INT(braces_expand(&n, s.p, 100), ERR_USAGE);
    str_clear(&s);
    for (int i = 0; i < 70000; i++) str_puts(&s, "x");
    CHECK_INT(braces_expand(&n, s.p, 100), ERR_USAGE);
    str_release(&s);
    CHECK_INT(n.count, 0);
}

static char root[] = "/tmp/test_inputs_XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "wb");
    if (f) fputs(text, f), fclose(f);
}

/* Load the words, "%" standing for the test's folder; the names, or -class. */
static int load(struct str *out, enum input_format format, int allow_pipe, const char *list)
{
    struct inputs in;
    struct str text = {0};
    const char *words[8];
    int n = 0;
    for (const char *p = list; *p; p++) {
        if (*p == '%')
            str_puts(&text, root);
        else
            str_putc(&text, *p);
    }
    for (char *word = strtok(text.p, " "); word; word = strtok(NULL, " ")) words[n++] = word;
    int rc = inputs_load(&in, words, n, format, allow_pipe);
    struct str all = {0};
    join(&all, &in.names);
    str_clear(out);
    for (char *p = all.p; *p;) { /* the folder becomes % again */
        if (str_starts(p, root))
            str_putc(out, '%'), p += strlen(root);
        else
            str_putc(out, *p++);
    }
    if (!out->p) str_puts(out, "");
    if (rc) CHECK_INT(in.names.count, 0);
    if (!rc) str_printf(out, " %s", in.format == INPUT_FILES ? "files" : "wds");
    str_release(&all);
    str_release(&text);
    inputs_release(&in);
    return rc;
}

static void expect(const char *words, const char *names)
{
    struct str s = {0};
    int rc = load(&s, INPUT_AUTO, 0, words);
    if (rc) TEST_FAIL("%s: %s", words, err_text());
    CHECK_STR(s.p, names);
    str_release(&s);
}

static void refuse(const char *words, int class, const char *part)
{
    struct str s = {0};
    CHECK_INT(load(&s, INPUT_AUTO, 0, words), class);
    if (!strstr(err_text(), part)) TEST_FAIL("%s: %s", words, err_text());
    str_release(&s);
}

TEST(words)
{
    char path[64];
    CHECK(mkdtemp(root) != NULL);
    static const char *const folders[] = {"shards", "pics",   "pics/sub", "both",
                                          "empty",  "nested", "nested/s"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        mkdir(path, 0777);
    }
    put("shards/1.tar", "");
    put("shards/10.tar", "");
    put("shards/2.tgz", "");
    put("shards/00000_stats.json", "");
    put("pics/sub/a.jpg", "");
    put("both/a.tar", "");
    put("both/a.png", "");
    put("list.txt", "# a comment\nx/{1..2}.tar\r\n\n  \nb.tar  \n");
    put("pipes.txt", "pipe:cat a\n");
    put("odd[1].tar", "");

    expect("s/{00..03}.tar", "s/00.tar s/01.tar s/02.tar s/03.tar wds");
    expect("b.tar a.tar", "a.tar b.tar wds"); /* sorted once */
    expect("b.tar::a.tar", "a.tar b.tar wds");
    expect("{2..10..8}.tar", "10.tar 2.tar wds"); /* by bytes */
    expect("%/shards", "%/shards/1.tar %/shards/10.tar %/shards/2.tgz wds");
    expect("%/shards/", "%/shards/1.tar %/shards/10.tar %/shards/2.tgz wds");
    expect("%/shards/*.tar", "%/shards/1.tar %/shards/10.tar wds");
    expect("%/{shards,both}/[12a].t*", "%/both/a.tar %/shards/1.tar %/shards/2.tgz wds");
    expect("%/odd[1].tar", "%/odd[1].tar wds"); /* a name that exists is no pattern */
    expect("%/pics", "%/pics files");
    expect("%/empty", "%/empty files");
    expect("@%/list.txt c.tar", "b.tar c.tar x/1.tar x/2.tar wds");
    expect("pipe:cat::http://h/x?{1,2}*.tar", "http://h/x?1*.tar http://h/x?2*.tar pipe:cat wds");
    expect("missing-file", "missing-file wds");

    refuse("%/{shards,both}/*.t*::%/both", ERR_USAGE, "both tar shards and pictures");
    refuse("%/both", ERR_USAGE, "--input-format");
    refuse("a.tar a.tar", ERR_USAGE, "a.tar: given twice");
    refuse("%/shards %/shards/1.tar", ERR_USAGE, "given twice");
    refuse("%/shards %/pics", ERR_USAGE, "in one run");
    refuse("@%/pipes.txt", ERR_USAGE, "--allow-pipe");
    refuse("@%/nolist.txt", ERR_INPUT, "nolist.txt");
    refuse("%/none*.tar", ERR_INPUT, "matches nothing");
    refuse("%/both/a.png", ERR_USAGE, "is a picture");
    refuse("{1..10000001}.tar", ERR_USAGE, "more than 10000000 names");
    refuse("", ERR_USAGE, "no input");
    refuse("a.tar::", ERR_USAGE, "empty name");
    refuse("a{b.tar", ERR_USAGE, "unbalanced");
}

TEST(formats)
{
    struct str s = {0};
    CHECK_INT(load(&s, INPUT_WEBDATASET, 0, "%/both"), 0);
    CHECK_STR(s.p, "%/both/a.tar wds");
    CHECK_INT(load(&s, INPUT_FILES, 0, "%/both"), 0);
    CHECK_STR(s.p, "%/both files");
    CHECK_INT(load(&s, INPUT_WEBDATASET, 0, "%/pics"), ERR_INPUT);
    CHECK_INT(load(&s, INPUT_FILES, 0, "%/nowhere"), ERR_INPUT);
    CHECK_INT(load(&s, INPUT_FILES, 0, "%/shards/1.tar"), ERR_INPUT);
    CHECK_INT(load(&s, INPUT_AUTO, 1, "@%/pipes.txt"), 0);
    CHECK_STR(s.p, "pipe:cat a wds");
    str_release(&s);
}

TEST(environment)
{
    setenv("WDS_HERE", "data/${SET}", 1);
    setenv("WDS_SET", "{0..1}", 1);
    unsetenv("WDS_GONE");
    expect("${HERE}.tar", "data/0.tar data/1.tar wds");
    refuse("${GONE}.tar", ERR_USAGE, "WDS_GONE");
    setenv("WDS_LOOP", "${LOOP}${LOOP}", 1);
    struct str s = {0};
    CHECK(load(&s, INPUT_AUTO, 0, "${LOOP}") <= 0); /* ends */
    str_release(&s);
}

TEST(common_folder)
{
    static const struct {
        const char *a, *b;
        size_t root;
    } cases[] = {{"d/1.tar", "d/2.tar", 2},
                 {"d/1.tar", "d/e/2.tar", 2},
                 {"1.tar", "2.tar", 0},
                 {"/x/ab/1.tar", "/x/ac/1.tar", 3},
                 {"pipe:a /b/1", "pipe:a /b/2", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inputs in;
        const char *words[] = {cases[i].b, cases[i].a};
        CHECK_INT(inputs_load(&in, words, 2, INPUT_AUTO, 0), 0);
        CHECK_INT(in.root, cases[i].root);
        inputs_release(&in);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_INT(system(command), 0);
}

TEST_MAIN
