/* test_expr.c - the filter language: what every construct gives for every kind of row, where errors
 * point, and that judging many rows at once is judging each. In the tables a letter stands for a
 * row: T true, f false, n false for want of a value. */
#include "test.h"
#include "base/err.h"
#include "base/str.h"
#include "data/expr/expr.h"

enum { N = 6 };
#define S(text)                \
    {                          \
        text, sizeof(text) - 1 \
    }

static const uint8_t a_valid[N] = {1, 1, 1, 0, 1, 1}, b_valid[N] = {1, 1, 1, 1, 0, 1};
static const int64_t a_values[N] = {1, 2, 3, 0, 5, -6}, b_values[N] = {3, 2, 1, 0, 0, -6};
static const double x_values[N] = {0.5, 2.0, NAN, 0, INFINITY, -1.5};
static const double f_values[N] = {0.2f, 0.1f, 0.3f, 0, 1, 16777216};
static const struct parquet_slice s_values[N] = {S("dog"), S("Dog"),          S(""),
                                                 S(""),    S("h\303\251llo"), S("zebra")};
static const struct parquet_slice t_values[N] = {S("d"), S("o"), S(""), S("x"), S(""), S("ze")};
static const uint8_t k_values[N] = {1, 0, 0, 1, 0, 0}, k_valid[N] = {1, 1, 0, 1, 1, 0};
static const int64_t big_values[N] = {
    9007199254740993, 9007199254740992, INT64_MIN, INT64_MAX, 0, 0};
static const uint8_t big_valid[N] = {1, 1, 1, 1, 0, 1};
static const int64_t w_values[N] = {640, 100, 0, 0, 300, 256},
                     h_values[N] = {480, 400, 10, 10, 0, 256};

static const struct column col_a = {COLUMN_INT, a_valid, NULL, a_values, NULL, NULL};
static const struct column col_b = {COLUMN_INT, b_valid, NULL, b_values, NULL, NULL};
static const struct column col_x = {COLUMN_REAL, a_valid, NULL, NULL, x_values, NULL};
static const struct column col_f = {COLUMN_REAL, a_valid, NULL, NULL, f_values, NULL};
static const struct column col_s = {COLUMN_STRING, a_valid, NULL, NULL, NULL, s_values};
static const struct column col_t = {COLUMN_STRING, b_valid, NULL, NULL, NULL, t_values};
static const struct column col_k = {COLUMN_BOOL, k_valid, k_values, NULL, NULL, NULL};
static const struct column col_big = {COLUMN_INT, big_valid, NULL, big_values, NULL, NULL};
static const struct column col_w = {COLUMN_INT, a_valid, NULL, w_values, NULL, NULL};
static const struct column col_h = {COLUMN_INT, b_valid, NULL, h_values, NULL, NULL};
static const struct column col_d = {COLUMN_REAL, NULL, NULL, NULL, f_values, NULL}; /* no null */

static const struct column *const values[] = {&col_a, &col_b, &col_x,   &col_f, &col_s,
                                              &col_t, &col_k, &col_big, &col_w, &col_h,
                                              &col_d, NULL,   &col_s,   &col_a};
static const struct expr_column columns[] = {
    {"a", COLUMN_INT, 0, "metadata", NULL, 0},
    {"b", COLUMN_INT, 0, "metadata", NULL, 0},
    {"x", COLUMN_REAL, 0, "metadata", NULL, 0},
    {"f_score", COLUMN_REAL, 1, "scores", NULL, 0},
    {"s", COLUMN_STRING, 0, "metadata", NULL, 0},
    {"t", COLUMN_STRING, 0, "metadata", NULL, 0},
    {"k", COLUMN_BOOL, 0, "metadata", NULL, 0},
    {"big", COLUMN_INT, 0, "metadata", NULL, 0},
    {"width", COLUMN_INT, 0, "metadata", NULL, 0},
    {"height", COLUMN_INT, 0, "metadata", NULL, 0},
    {"d", COLUMN_REAL, 0, "metadata", NULL, 0},
    {"clip_similarity", COLUMN_REAL, 1, "embeddings", "it needs both towers", 1},
    {"odd `name", COLUMN_STRING, 0, "metadata", NULL, 0},
    {"exif.Make", COLUMN_INT, 0, "metadata", NULL, 0}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The letters of a condition's rows, over all its rules. */
static const char *judge(const char *text)
{
    static char out[1200];
    struct expr *e = expr_new();
    int rc = expr_add(e, text);
    if (!rc) rc = expr_bind(e, columns, COLUMNS);
    if (rc) {
        snprintf(out, sizeof out, "%s", err_text());
    } else {
        struct expr_tally tally[64] = {0};
        int32_t verdict[N];
        expr_judge(e, verdict, tally, values, N);
        for (int i = 0; i < N; i++) out[i] = verdict[i] > 0 ? 'f' : verdict[i] ? 'n' : 'T';
        out[N] = 0;
    }
    expr_free(e);
    return out;
}

struct row {
    const char *text, *want;
};

static void check_rows(const struct row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = judge(row[i].text);
        if (strcmp(got, row[i].want))
            TEST_FAIL("%s gives %s, not %s", row[i].text, got, row[i].want);
    }
}
#define CHECK_ROWS(...)                                 \
    do {                                                \
        static const struct row rows[] = {__VA_ARGS__}; \
        check_rows(rows, sizeof rows / sizeof *rows);   \
    } while (0)

TEST(comparisons)
{
    /* a: 1 2 3 null 5 -6      b: 3 2 1 0 null -6      x: .5 2 nan null inf -1.5 */
    CHECK_ROWS({"a > 2", "ffTnTf"}, {"a >= 2", "fTTnTf"}, {"a < 2", "TffnfT"}, {"a <= 2", "TTfnfT"},
               {"a == 2", "fTfnff"}, {"a = 2", "fTfnff"}, {"a != 2", "TfTnTT"},
               {"a <> 2", "TfTnTT"}, {"2 < a", "ffTnTf"}, {"a == b", "fTfnnT"},
               {"a != b", "TfTnnf"}, {"a < b", "Tffnnf"}, {"a >= b", "fTTnnT"}, {"a>2", "ffTnTf"},
               {"x > 0", "TTnnTf"}, {"x != 2", "TfnnTT"}, {"x == x", "TTnnTT"},
               {"x <= 2", "TTnnfT"}, {"x >= a", "fTnnTT"}, {"a > x", "Tfnnff"},
               {"a > 2.5", "ffTnTf"}, {"x == 0.5", "Tfnnff"}, {"-6 == a", "fffnfT"},
               {"a == -6", "fffnfT"}, {"a == - 6", "fffnfT"}, {"a == +1", "Tffnff"},
               {"1 == 1", "TTTTTT"}, {"1 > 2", "ffffff"}, {"1e3 == 1000", "TTTTTT"},
               {".5 == x", "Tfnnff"}, {"5. == a", "fffnTf"}, {"1E-2 < x", "TTnnTf"});
}

TEST(chains)
{
    CHECK_ROWS({"0 < a < 3", "TTfnff"}, {"0 < a <= 3", "TTTnff"}, {"0 < a < b", "Tffnnf"},
               {"a < b < 4", "Tffnnf"}, {"1 <= a <= b <= 3", "TTfnnf"}, {"a == b == 2", "fTffnf"},
               {"0 < x < 1", "Tfnnff"}, {"10 > a > 0 < b", "TTTfnf"},
               {"a < 9007199254740993 <= big", "Tffnnf"});
}

TEST(chains_know_what_null_decides)
{
    /* a known false link makes the chain false, not null: row 3 has a null, b 0; row 4 a 5, b null
     */
    CHECK_ROWS({"a < 3 < b", "ffffff"}, {"5 < b < a", "ffffnf"}, {"7 < a < b", "fffnff"});
}

TEST(logic)
{
    CHECK_ROWS({"a > 1 and b > 1", "fTfnnf"}, {"a > 1 or b > 1", "TTTnTf"}, {"not a > 1", "TffTfT"},
               {"not not a > 1", "fTTnTf"}, {"a > 1 & b > 1", "fTfnnf"},
               {"a > 1 | b > 1", "TTTnTf"}, {"~ a > 1", "TffTfT"}, {"~a > 1 & b > 1", "Tfffff"},
               {"(a > 1) & (b > 1)", "fTfnnf"}, {"a > 1 AND NOT b > 1", "ffTnTf"},
               {"a == 1 or a == 2 and b == 9", "Tffnff"},
               {"(a == 1 or a == 2) and b == 2", "fTfnff"}, {"a == 1 | a == 2 & b == 9", "Tffnff"},
               {"not a == 1 and b == 1", "ffTfnf"}, {"not (a == 1 and b == 3)", "fTTTTT"},
               {"true", "TTTTTT"}, {"False", "ffffff"}, {"a > 2 or true", "TTTTTT"},
               {"a > 2 and false", "fffnff"}, {"TRUE and a > 2", "ffTnTf"});
}

TEST(logic_knows_what_null_decides)
{
    /* a is null in row 3; an unknown is told apart from a false, and never changes the result */
    CHECK_ROWS({"a > 2 or b > 9", "ffTnTf"}, {"a > 2 or b == 0", "ffTTTf"},
               {"(a > 2 and b > 9) or b > 9", "ffffnf"}, {"not (a > 2 and b > 9)", "TTTTTT"},
               {"not (a > 2 or b > 9)", "TTfTfT"}, {"(not a > 2) and b == 9", "ffffff"},
               {"not (not a > 2)", "ffTnTf"}, {"(a > 2) == true", "ffTnTf"},
               {"(a > 2) == false", "TTfTfT"}, {"(a > 2) != (b > 2)", "TfTnTf"});
}

TEST(truth_columns)
{
    /* k: T f null T f null */
    CHECK_ROWS({"k", "TfnTfn"}, {"not k", "fTTfTT"}, {"~k", "fTTfTT"}, {"k == true", "TfnTfn"},
               {"k == false", "fTnfTn"}, {"k != true", "fTnfTn"}, {"k is null", "ffTffT"},
               {"k is not null", "TTfTTf"}, {"k and a > 0", "Tfnnfn"}, {"k or a > 0", "TTTTTn"},
               {"(a > 1) is null", "ffffff"}, {"k == k", "TTnTTn"}, {"coalesce(k, true)", "TfTTfT"},
               {"coalesce(k, a > 2)", "TfTTff"});
}

TEST(null)
{
    CHECK_ROWS({"a is null", "fffTff"}, {"a is not null", "TTTfTT"}, {"x is null", "ffTTff"},
               {"s is null", "fffTff"}, {"s IS NOT NULL", "TTTfTT"}, {"a is None", "fffTff"},
               {"not a is null", "TTTfTT"}, {"x is null or x > 0", "TTTTTf"},
               {"a + b is null", "fffTTf"}, {"0/0 is null", "TTTTTT"}, {"len(s) is null", "fffTff"},
               {"lower(s) is null", "fffTff"}, {"coalesce(a, 7) > 6", "fffTff"},
               {"coalesce(a, b, 7) == 0", "fffTff"}, {"coalesce(x, 9) == 9", "ffTTff"},
               {"coalesce(a, 0.5) == 0.5", "fffTff"}, {"coalesce(s, 'none') == 'none'", "fffTff"},
               {"coalesce(s, t) == 'x'", "fffTff"});
}

TEST(arithmetic)
{
    CHECK_ROWS({"a + b == 4", "TTTnnf"}, {"4 == a + b", "TTTnnf"},
               {"0 < a * 2 <= -b + 7 != 4 - 0", "fTTnnf"}, {"a - b < 0", "Tffnnf"},
               {"a * 2 == 4", "fTfnff"}, {"a / 2 == 0.5", "Tffnff"}, {"7 // 2 == 3", "TTTTTT"},
               {"-7 // 2 == -4", "TTTTTT"}, {"7 % 3 == 1", "TTTTTT"}, {"-7 % 3 == 2", "TTTTTT"},
               {"7 % -3 == -2", "TTTTTT"}, {"a ** 2 == 36", "fffnfT"}, {"-2 ** 2 == -4", "TTTTTT"},
               {"(-2) ** 2 == 4", "TTTTTT"}, {"2 ** 3 ** 2 == 512", "TTTTTT"},
               {"2 ** -1 == 0.5", "TTTTTT"}, {"1 + 2 * 3 == 7", "TTTTTT"},
               {"(1 + 2) * 3 == 9", "TTTTTT"}, {"10 - 4 - 3 == 3", "TTTTTT"},
               {"16 / 4 / 2 == 2", "TTTTTT"}, {"8 // 3 * 3 + 8 % 3 == 8", "TTTTTT"},
               {"-a < 0", "TTTnTf"}, {"- -a == a", "TTTnTT"}, {"+a == a", "TTTnTT"},
               {"-(a) == -1", "Tffnff"}, {"-a ** 2 == -4", "fTfnff"});
}

TEST(division_by_zero_is_ieee)
{
    CHECK_ROWS({"1 / 0 > 1e308", "TTTTTT"}, {"-1 / 0 < -1e308", "TTTTTT"}, {"0 / 0 == 0", "nnnnnn"},
               {"1 // 0 > 1e308", "TTTTTT"}, {"1 % 0 == 0", "nnnnnn"}, {"a / b > 1", "ffTnnf"},
               {"1 / b > 1e308", "fffTnf"}, {"b / b == 1", "TTTnnT"}, {"x * 0 == 0", "TTnnnT"});
}

TEST(min_max_abs)
{
    CHECK_ROWS({"min(a, b) >= 1", "TTTnnf"}, {"max(a, b) == 3", "TfTnnf"},
               {"min(a, 2) == 2", "fTTnTf"}, {"max(a, b, 10) == 10", "TTTnnT"},
               {"min(a) == 1", "Tffnff"}, {"abs(a) == 6", "fffnfT"}, {"abs(x) > 1", "fTnnTT"},
               {"min(x, 1) < 1", "TfnnfT"}, {"max(x, 0.0) == 0", "ffnnfT"},
               {"min(width, height) >= 256", "TffnnT"}, {"min(max(a, 2), 4) == 2", "TTfnfT"},
               {"min(big, 9007199254740993) == 9007199254740993", "TffTnf"});
}

TEST(derived_columns)
{
    /* 640x480 100x400 0x10 nullx10 300xnull 256x256 */
    CHECK_ROWS({"aspect <= 3", "TfnnnT"}, {"aspect == 4", "fTnnnf"}, {"aspect == 1", "ffnnnT"},
               {"resolution >= 256", "TfnnnT"}, {"resolution == 100", "fTnnnf"},
               {"aspect is null", "ffTTTf"}, {"resolution is null", "ffTTTf"},
               {"resolution * 2 == 960", "Tfnnnf"});
}

TEST(whole_numbers_are_exact)
{
    /* 2^53+1, 2^53, min, max, null, 0 */
    CHECK_ROWS({"big == 9007199254740993", "Tfffnf"}, {"big > 9007199254740992", "TffTnf"},
               {"big != 9007199254740993", "fTTTnT"}, {"big == -9223372036854775808", "ffTfnf"},
               {"big >= 9223372036854775807", "fffTnf"}, {"big in [9007199254740993, 5]", "Tfffnf"},
               {"big not in (9007199254740992)", "TfTTnT"},
               {"9007199254740992 < big < 9007199254740994", "Tfffnf"},
               /* a double is what the other side makes of it */
               {"big == 9007199254740992.0", "TTffnf"}, {"big <= 18446744073709551616", "TTTTnT"},
               {"big + 0 == 9007199254740992", "TTffnf"});
}

TEST(single_precision_is_compared_as_stored)
{
    /* f_score, float32: 0.2 0.1 0.3 null 1 2^24; d is the same as doubles */
    CHECK_ROWS({"f_score <= 0.2", "TTfnff"}, {"f_score == 0.2", "Tffnff"},
               {"f_score >= 0.3", "ffTnTT"}, {"0.1 == f_score", "fTfnff"},
               {"0.1 <= f_score <= 0.2", "TTfnff"}, {"f_score in [0.1, 0.3]", "fTTnff"},
               {"max(f_score, 0.2) == 0.2", "TTfnff"}, {"abs(f_score) == 0.3", "ffTnff"},
               {"-f_score == -0.2", "Tffnff"}, {"d <= 0.2", "fTfTff"},
               {"f_score * 1 == 0.2", "fffnff"}, {"f_score == 16777217", "fffnfT"},
               {"f_score < 1e300", "TTTnTT"}, {"f_score > 1e-300", "TTTnTT"},
               {"coalesce(f_score, 0.2) == 0.2", "TffTff"});
}

TEST(strings)
{
    /* s: dog Dog "" null héllo zebra      t: d o "" x null ze */
    CHECK_ROWS({"s == 'dog'", "Tffnff"}, {"s == \"dog\"", "Tffnff"}, {"s != 'dog'", "fTTnTT"},
               {"s < 'e'", "TTTnff"}, {"s >= 'h\303\251'", "fffnTT"}, {"s > t", "TffnnT"},
               {"s == ''", "ffTnff"}, {"'a' <= s <= 'i'", "TffnTf"},
               {"s in ['dog', 'zebra', '']", "TfTnfT"}, {"s not in ['dog']", "fTTnTT"},
               {"s == 'h\\u00e9llo'", "fffnTf"}, {"s == 'h\\xe9llo'", "fffnTf"},
               {"s == 'd\\x6fg'", "Tffnff"}, {"`odd ``name` == 'dog'", "Tffnff"},
               {"exif.Make == 2", "fTfnff"}, {"s in []", "fffnff"}, {"s not in []", "TTTnTT"},
               {"s == ['dog', 'Dog']", "TTfnff"}, {"s != ['dog', 'Dog']", "ffTnTT"});
}

TEST(string_functions)
{
    CHECK_ROWS({"len(s) == 3", "TTfnff"}, {"len(s) == 5", "fffnTT"}, {"len(s) + 1 == 1", "ffTnff"},
               {"contains(s, 'o')", "TTfnTf"}, {"contains(s, t)", "TTTnnT"},
               {"contains(s, '')", "TTTnTT"}, {"not contains(s, 'o')", "ffTTfT"},
               {"startswith(s, 'D')", "fTfnff"}, {"startswith(s, t)", "TfTnnT"},
               {"endswith(s, 'g')", "TTfnff"}, {"endswith(s, t)", "ffTnnf"},
               {"endswith(s, 'a long one')", "fffnff"}, {"lower(s) == 'dog'", "TTfnff"},
               {"upper(s) == 'DOG'", "TTfnff"}, {"upper(s) == 'H\303\211LLO'", "fffnTf"},
               {"lower(upper(s)) == 'h\303\251llo'", "fffnTf"},
               {"contains(lower(s), lower('DO'))", "TTfnff"}, {"matches(s, '^d')", "Tffnff"},
               {"matches(s, '(?i)^d.g$')", "TTfnff"}, {"matches(s, '\\bz\\w+')", "fffnfT"},
               {"matches(s, '\\\\w{5}')", "fffnTT"}, {"matches(s, '^$')", "ffTnff"},
               {"matches(lower(s), 'dog')", "TTfnff"}, {"min(len(s), len(t)) == 1", "TTfnnf"});
}

TEST(lists)
{
    CHECK_ROWS({"a in [1, 5]", "TffnTf"}, {"a in (1, 5)", "TffnTf"}, {"a in (5)", "fffnTf"},
               {"a in [1, 5,]", "TffnTf"}, {"a not in [1, 5]", "fTTnfT"},
               {"a in [-6, 2.0]", "fTfnfT"}, {"x in [0.5, 2]", "TTnnff"}, {"a in [2.5]", "fffnff"},
               {"x not in [2]", "TfnnTT"}, {"not a in [1]", "fTTTTT"},
               {"a in [1] and b in [3]", "Tffnff"}, {"a + 1 in [2, 3]", "TTfnff"},
               {"a in [1, 1, 1]", "Tffnff"}, {"x in []", "ffnnff"});
}

TEST(words_and_spaces)
{
    CHECK_ROWS({"  a\n>\t2  ", "ffTnTf"}, {"a>2 and b<2", "ffTnnf"}, {"a Is Not Null", "TTTfTT"},
               {"a IN [1]", "Tffnff"}, {"((((a))))>2", "ffTnTf"}, {"a\302\240> 2", "ffTnTf"},
               {"a > 2 and(b > 0)", "ffTnnf"});
}

struct error {
    const char *text;
    int at; /* character, from 1 */
    const char *why;
};

static void check_error(const struct error *e)
{
    char want[32];
    const char *got = judge(e->text);
    snprintf(want, sizeof want, "character %d: ", e->at);
    if (e->at && strncmp(got, want, strlen(want)))
        TEST_FAIL("%s: the error is not at character %d: %s", e->text, e->at, got);
    if (!strstr(got, e->why)) TEST_FAIL("%s: '%s' is not in: %s", e->text, e->why, got);
}

TEST(errors_of_grammar)
{
    static const struct error errors[] = {
        {"", 0, "is empty"},
        {"   ", 0, "is empty"},
        {"a >", 4, "a value is missing at the end"},
        {"a > 2 and", 10, "a value is missing"},
        {"(a > 2", 7, "')' is missing"},
        {"a > 2)", 6, "without its '('"},
        {"a 2", 3, "is expected, not 2"},
        {"a > > 2", 5, "is expected, not >"},
        {"and a > 2", 1, "a value is expected"},
        {"a > 2 like 3", 7, "'and', 'or' or a comparison is expected, not like"},
        {"a > 'dog", 5, "closing '"},
        {"a > \"dog", 5, "closing \""},
        {"`a > 2", 1, "closing `"},
        {"`` > 2", 1, "empty name"},
        {"a > 2x", 5, "not a number"},
        {"a > 2.3.4", 5, "not a number"},
        {"a > 1e999", 5, "beyond the largest"},
        {"a > 2 && b > 2", 7, "write 'and'"},
        {"a > 2 || b > 2", 7, "write 'or'"},
        {"!a", 1, "write 'not'"},
        {"a > @x", 5, "no variables"},
        {"a > $2", 5, "means nothing"},
        {"s == \342\200\230x\342\200\231", 6, "printer's quote"},
        {"s == 'a\\ud800'", 8, "no character"},
        {"a in 5", 6, "a list such as"},
        {"'o' in s", 8, "contains(text, part)"},
        {"a in [1", 8, "']' or ','"},
        {"a in [b]", 7, "nothing to be computed"},
        {"a in [1+1]", 8, "is expected, not +"},
        {"a in [null]", 7, "nothing equals null"},
        {"a is 2", 6, "'null' or 'not null'"},
        {"a not 2", 3, "is expected, not not"},
        {"a < b in [1]", 7, "parentheses"},
        {"a in [1] < 2", 10, "parentheses"},
        {"a is null == true", 11, "parentheses"},
        {"a == not b", 6, "parentheses"},
        {"[1, 2] == a", 1, "'in' before a list"},
        {"len()", 1, "needs a value"},
        {"min(a, )", 8, "a value is expected"},
        {"min(a b)", 7, "')' or ','"},
        {"\303\251\303\251 > $", 6, "means nothing"}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) check_error(&errors[i]);
}

TEST(errors_of_names_and_types)
{
    static const struct error errors[] = {
        {"f_scor > 2", 1, "no column 'f_scor'; did you mean 'f_score'?"},
        {"a > 2 and hight < 3", 11, "did you mean 'height'?"},
        {"zzzzzzzz > 2", 1, "no column 'zzzzzzzz'\n"},
        {"F_Score > 2", 1, "did you mean 'f_score'?"},
        {"resolutoin > 2", 1, "did you mean 'resolution'?"},
        {"`aspect` > 2", 1, "no column 'aspect'"},
        {"`clip_similarity` > 2", 1, "no column 'clip_similarity'"},
        {"clip_similarity > 0.3", 1, "needs both towers"},
        {"a > 'x'", 5, "a number is compared with text"},
        {"s > 5", 5, "text is compared with a number"},
        {"k == 1", 6, "a truth value is compared with a number"},
        {"k > true", 5, "no order"},
        {"a", 1, "a rule is a condition, but this is a number"},
        {"s", 1, "a rule is a condition"},
        {"a > 2 and s", 11, "a rule is a condition"},
        {"a > 2 or s", 10, "'or' joins conditions"},
        {"not a", 5, "'not' joins conditions"},
        {"a or b > 2", 1, "'or' joins conditions"},
        {"a + s > 2", 5, "a number is needed here, but this is text"},
        {"-s > 2", 2, "a number is needed"},
        {"k + 1 > 2", 1, "truth value"},
        {"a == null", 6, "write 'is null'"},
        {"null is null", 1, "null stands only"},
        {"len(a) > 2", 5, "len() takes text"},
        {"len(s, t) > 2", 1, "takes 1 value, not 2"},
        {"contains(s) ", 1, "takes 2 values, not 1"},
        {"contain(s, 'x')", 1, "no function contain(); did you mean contains()?"},
        {"zzzzzzzz(s)", 1, "no function zzzzzzzz(); known:"},
        {"min(s, 'x') > 2", 5, "takes numbers"},
        {"matches(s, t)", 12, "written out"},
        {"matches(s, '(')", 12, "without its ')' (at byte 1 of the pattern)"},
        {"coalesce(s, 1) > 2", 13, "of one kind"},
        {"s in [1]", 7, "text is looked for"},
        {"a in ['x']", 7, "looked for among texts"},
        {"k in [true]", 1, "needs no list"},
        {"aspect == 'wide'", 11, "compared with text"}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) check_error(&errors[i]);
}

TEST(an_error_shows_the_place)
{
    CHECK_STR(judge("a > 2 and hight < 3"),
              "character 11: no column 'hight'; did you mean 'height'?\n"
              "    a > 2 and hight < 3\n"
              "              ^^^^^\n"
              "    metadata: a, b, x, s, t, k, big, width, height, d, odd `name, exif.Make\n"
              "    scores: f_score\n"
              "    embeddings: clip_similarity");
    CHECK_STR(
        judge("s == '\346\274\242\345\255\227' and $"), /* two wide characters: four columns */
        "character 15: '$' means nothing here\n"
        "    s == '\346\274\242\345\255\227' and $\n"
        "                    ^");
    CHECK_STR(judge("a\n>\n$"), "character 5: '$' means nothing here\n    a > $\n        ^");
}

TEST(an_error_in_a_long_text_shows_its_neighbourhood)
{
    struct str text = {0};
    for (int i = 0; i < 500; i++) str_puts(&text, "a > 2 and ");
    str_puts(&text, "hight < 3");
    for (int i = 0; i < 500; i++) str_puts(&text, " and a > 2");
    const char *got = judge(text.p), *line = strchr(got, '\n'), *carets = strchr(line + 1, '\n');
    CHECK(!strncmp(got, "character 5001: no column 'hight'", 33));
    CHECK(!strncmp(line, "\n    ...", 8));
    CHECK(strstr(line, "and hight < 3 and") != NULL);
    CHECK(carets - line < 90);
    CHECK_INT(strstr(line, "hight") - line, strchr(carets, '^') - carets);
    str_release(&text);
}

TEST(rules_are_the_top_conjuncts)
{
    struct expr *e = expr_new();
    CHECK(!expr_add(e, " a > 2 and  (b < 3 & x >  1) and not (k and a > 1) and 0 < a < 3"));
    CHECK(!expr_add(e, "(s == 'x')"));
    CHECK(!expr_add(e, "a > 1 or b > 1 and k"));
    static const char *const want[] = {"a > 2",
                                       "b < 3",
                                       "x >  1",
                                       "not (k and a > 1)",
                                       "0 < a < 3",
                                       "(s == 'x')",
                                       "a > 1 or b > 1 and k"};
    CHECK_INT(expr_rules(e), 7);
    for (size_t i = 0; i < 7; i++) CHECK_STR(expr_rule(e, i), want[i]);
    CHECK(!expr_bind(e, columns, COLUMNS));
    CHECK(expr_reads(e, 0) && expr_reads(e, 4) && !expr_reads(e, 5) && !expr_reads(e, 99));
    expr_free(e);
}

TEST(verdicts_and_tallies)
{
    struct expr *e = expr_new();
    struct expr_tally tally[3] = {{0}};
    int32_t verdict[N];
    CHECK(!expr_add(e, "a >= 2 and b <= 2"));
    CHECK(!expr_add(e, "s != 'zebra'"));
    CHECK(!expr_bind(e, columns, COLUMNS));
    expr_judge(e, verdict, tally, values, N);
    static const int32_t want[N] = {1, 0, 0, -1, -2, 1};
    for (int i = 0; i < N; i++) CHECK_INT(verdict[i], want[i]);
    CHECK_INT(tally[0].fails, 3);
    CHECK_INT(tally[0].dropped, 3);
    CHECK_INT(tally[0].null, 1);
    CHECK_INT(tally[1].fails, 2); /* also row 0, which rule 1 dropped */
    CHECK_INT(tally[1].dropped, 1);
    CHECK_INT(tally[1].null, 1);
    CHECK_INT(tally[2].fails, 2);
    CHECK_INT(tally[2].dropped, 0);
    uint8_t one[N];
    expr_eval(e, 1, one, values, N);
    static const uint8_t alone[N] = {EXPR_FALSE, EXPR_TRUE, EXPR_TRUE,
                                     EXPR_TRUE,  EXPR_NULL, EXPR_TRUE};
    CHECK_BYTES(one, alone, N);
    expr_free(e);
}

/* Rows of a long batch, in which every sixth is the same, are judged as in a short one. */
TEST(long_batches)
{
    enum { LONG = 5000 };
    static const char *const texts[] = {"a > 1 or not contains(lower(s), 'o') and min(a, b) < 3",
                                        "x > 0 and k",
                                        "s in ['dog', 'x'] or upper(s) == 'ZEBRA' or aspect > 2"};
    static int64_t la[LONG], lb[LONG], lw[LONG], lh[LONG];
    static double lx[LONG];
    static uint8_t va[LONG], vb[LONG], kv[LONG], kk[LONG];
    static struct parquet_slice ls[LONG];
    for (int i = 0; i < LONG; i++) {
        int j = i % N;
        la[i] = a_values[j], lb[i] = b_values[j], lw[i] = w_values[j], lh[i] = h_values[j];
        lx[i] = x_values[j], ls[i] = s_values[j], va[i] = a_valid[j], vb[i] = b_valid[j];
        kv[i] = k_valid[j], kk[i] = k_values[j];
    }
    struct column A = {COLUMN_INT, va, NULL, la, NULL, NULL},
                  B = {COLUMN_INT, vb, NULL, lb, NULL, NULL};
    struct column X = {COLUMN_REAL, va, NULL, NULL, lx, NULL},
                  C = {COLUMN_STRING, va, NULL, NULL, NULL, ls};
    struct column K = {COLUMN_BOOL, kv, kk, NULL, NULL, NULL};
    struct column W = {COLUMN_INT, va, NULL, lw, NULL, NULL},
                  H = {COLUMN_INT, vb, NULL, lh, NULL, NULL};
    const struct column *many[COLUMNS] = {&A, &B, &X, NULL, &C, NULL, &K, NULL, &W, &H};
    for (size_t i = 0; i < 3; i++) {
        struct expr *e = expr_new();
        static int32_t verdict[LONG], few[N];
        struct expr_tally tally[4] = {{0}}, unused[4] = {{0}};
        CHECK(!expr_add(e, texts[i]));
        CHECK(!expr_bind(e, columns, COLUMNS));
        expr_judge(e, verdict, tally, many, LONG);
        expr_judge(e, few, unused, values, N);
        for (int r = 0; r < LONG; r++)
            if (verdict[r] != few[r % N]) TEST_FAIL("%s: row %d is %d", texts[i], r, verdict[r]);
        expr_free(e);
    }
}

TEST(nesting_is_bounded)
{
    static const struct {
        const char *open, *close;
    } kinds[] = {{"(", ")"},    {"not ", ""}, {"-", ""}, {"abs(", ")"},
                 {"2 ** ", ""}, {"1 + ", ""}, {"~", ""}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct str deep = {0};
        int truth = strchr("n~", kinds[i].open[0]) != NULL;
        for (int n = 0; n < 100000 / 5; n++) str_puts(&deep, kinds[i].open);
        str_puts(&deep, truth ? "k" : "a");
        for (int n = 0; n < 100000 / 5; n++) str_puts(&deep, kinds[i].close);
        if (!truth) str_puts(&deep, " > 1");
        CHECK(strstr(judge(deep.p), "nested deeper than 200 levels") != NULL);
        str_release(&deep);
    }
    struct str near = {0};
    for (int n = 0; n < 190; n++) str_putc(&near, '(');
    str_puts(&near, "a > 2");
    for (int n = 0; n < 190; n++) str_putc(&near, ')');
    CHECK_STR(judge(near.p), "ffTnTf");
    str_release(&near);
}

TEST(long_filters_are_not_deep)
{
    struct str text = {0};
    str_puts(&text, "a == 100");
    for (int n = 0; n < 5000; n++) str_printf(&text, " or a == %d", 1000 + n);
    str_puts(&text, " or a == 3");
    CHECK_STR(judge(text.p), "ffTnff");
    str_clear(&text);
    str_puts(&text, "min(100");
    for (int n = 0; n < 5000; n++) str_puts(&text, ", a");
    str_puts(&text, ") == 3");
    CHECK_STR(judge(text.p), "ffTnff");
    str_clear(&text);
    str_puts(&text, "a in [3");
    for (int n = 0; n < 20000; n++) str_printf(&text, ",%d", 1000 + n);
    str_puts(&text, "]");
    CHECK_STR(judge(text.p), "ffTnff");
    str_clear(&text);
    str_puts(&text, "a < 1");
    for (int n = 0; n < 100; n++) str_puts(&text, " < 1");
    CHECK(strstr(judge(text.p), "more than 64 comparisons") != NULL);
    str_clear(&text);
    while (text.len <= 300000) str_puts(&text, "a > 1 or ");
    CHECK(strstr(judge(text.p), "too long") != NULL);
    CHECK(strstr(judge("a > 2 and s == '\377'"), "not UTF-8") != NULL);
    str_release(&text);
}

TEST_MAIN
