/* JSON as Python writes it: what is kept, what is refused, where. */
#include "test.h"
#include "base/err.h"
#include "format/json.h"

static struct arena arena;

static struct json *parse(const char *text)
{
    struct json *j = NULL;
    int rc = json_parse(&j, text, strlen(text), &arena);
    if (rc) TEST_FAIL("%s: %s", text, err_text());
    return j;
}

TEST(values)
{
    struct json *j =
        parse("{\"a\": 1, \"b\": [true, null, -2.5e3], \"c\": {\"d\": \"x\"}, \"a\": 7}");
    CHECK_INT(json_int(j, "a", 0), 7); /* the last of a repeated key */
    CHECK_INT(json_get(j, "b")->child->i, 1);
    CHECK_NEAR(json_get(j, "b")->child->next->next->real, -2500, 0);
    CHECK_STR(json_text(json_get(j, "c"), "d", ""), "x");
    arena_release(&arena);
}

TEST(what_python_writes_beyond_the_standard)
{
    struct json *j =
        parse("[NaN, -Infinity, 123456789012345678901234567890, \"\\ud800\", \"\\ud83d\\ude00\"]");
    CHECK(isnan(j->child->real));
    CHECK(isinf(j->child->next->real));
    CHECK_INT(j->child->next->next->type, JSON_REAL);
    CHECK_STR(j->child->next->next->text, "123456789012345678901234567890");
    CHECK_STR(j->child->next->next->next->text, "\xef\xbf\xbd");
    CHECK_STR(j->child->next->next->next->next->text, "\xf0\x9f\x98\x80");
    arena_release(&arena);
}

TEST(int64_limits)
{
    struct json *j = parse("[9223372036854775807, -9223372036854775808, 9223372036854775808]");
    CHECK_INT(j->child->i, INT64_MAX);
    CHECK_INT(j->child->next->i, INT64_MIN);
    CHECK_INT(j->child->next->next->type, JSON_REAL);
    arena_release(&arena);
}

TEST(refused_with_line_and_column)
{
    static const char *const bad[] = {
        "",    "{",     "{\"a\"", "{\"a\":",    "{\"a\":1,}", "[1,]",    "[1 2]",
        "01",  "-",     "1.",     "1e",         "\"abc",      "\"\\x\"", "\"\\u12\"",
        "tru", "{a:1}", "1 2",    "{\"a\":1}}", "nul",        "+1",      ".5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json *j;
        CHECK_INT(json_parse(&j, bad[i], strlen(bad[i]), &arena), ERR_DATA);
        CHECK_INT(err_why(), BAD_JSON);
        CHECK(strstr(err_text(), "line 1 column") != NULL);
    }
    struct json *j;
    CHECK_INT(json_parse(&j, "{\n \"a\": x}", 10, &arena), ERR_DATA);
    CHECK(strstr(err_text(), "line 2 column 7") != NULL);
    arena_release(&arena);
}

TEST(depth_is_bounded)
{
    char deep[4096];
    memset(deep, '[', sizeof deep);
    struct json *j;
    CHECK_INT(json_parse(&j, deep, sizeof deep, &arena), ERR_DATA);
    arena_release(&arena);
}

TEST(printing_gives_the_same_text)
{
    static const char text[] = "{\"a\":[1,2.50,\"q\\\"\\\\\\n\\u0001\",null,true,{}],\"b\":NaN}";
    struct str s = {0};
    json_print(&s, parse(text));
    CHECK_STR(s.p, text);
    str_release(&s);
    arena_release(&arena);
}

TEST_MAIN
