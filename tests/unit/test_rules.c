/* test_rules.c - which rules are plain comparisons, and which rule a reason belongs to. */
#include "stage/report/rules.h"
#include "test.h"

static void check(const char *text, const char *column, enum rule_op op, double number)
{
    struct run run = {0};
    struct rules r = {0};
    run_add(&run, "rule 1", text);
    run_add(&run, "columns", "rule 2");
    rules_load(&r, &run);
    CHECK_INT(r.count, 1);
    if (!r.count) return;
    const struct rule *one = &r.list[0];
    CHECK_STR(one->text, text);
    CHECK_INT(one->column != NULL, column != NULL);
    if (one->column && column) {
        CHECK_STR(one->column, column);
        CHECK_INT(one->op, op);
        CHECK_NEAR(one->number, number, 0);
    }
    rules_release(&r);
    run_release(&run);
}

TEST(plain_comparisons)
{
    check("aesthetic_score >= 6", "aesthetic_score", RULE_GE, 6);
    check("a<0.5", "a", RULE_LT, 0.5);
    check(" a.b \n<= -1e3 ", "a.b", RULE_LE, -1000);
    check("6 <= a", "a", RULE_GE, 6);
    check(".5>a", "a", RULE_LT, 0.5);
    check("`my column` > 2", "my column", RULE_GT, 2);
    check("min(width,height) >= 256", "resolution", RULE_GE, 256);
    check("min ( width , height ) >= 256", "resolution", RULE_GE, 256);
    check("256 <= min(width, height)", "resolution", RULE_GE, 256);
}

TEST(other_rules)
{
    check("a == 6", NULL, RULE_OTHER, 0);
    check("a >= b", NULL, RULE_OTHER, 0);
    check("a >= 6 or b > 1", NULL, RULE_OTHER, 0);
    check("(a >= 6)", NULL, RULE_OTHER, 0);
    check("a + 1 >= 6", NULL, RULE_OTHER, 0);
    check("a >= 6 + 1", NULL, RULE_OTHER, 0);
    check("max(width,height) >= 256", NULL, RULE_OTHER, 0);
    check("min(width,size) >= 256", NULL, RULE_OTHER, 0);
    check("`open > 2", NULL, RULE_OTHER, 0);
    check("a >= inf", NULL, RULE_OTHER, 0);
    check("a >=", NULL, RULE_OTHER, 0);
    check(">= 6", NULL, RULE_OTHER, 0);
    check("3", NULL, RULE_OTHER, 0);
    check("3 < 4", NULL, RULE_OTHER, 0);
    check("<", NULL, RULE_OTHER, 0);
    check("not a", NULL, RULE_OTHER, 0);
}

static void count(struct rules *r, const char *reason)
{
    rules_count(r, reason, strlen(reason));
}

TEST(reasons)
{
    struct run run = {0};
    struct rules r = {0};
    run_add(&run, "rule 1", "a >= 1");
    run_add(&run, "rule 2", "a >= 10");
    rules_load(&r, &run);
    count(&r, "a >= 1");
    count(&r, "a >= 1: null");
    count(&r, "a >= 10");
    count(&r, "b");
    count(&r, "b: null");
    CHECK_INT(r.asked, 2);
    CHECK_INT(r.count, 3);
    CHECK_INT(r.list[0].dropped, 2);
    CHECK_INT(r.list[0].nulls, 1);
    CHECK_INT(r.list[1].dropped, 1);
    CHECK_INT(r.list[2].dropped, 2);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        snprintf(text, sizeof text, "reason %d", i);
        count(&r, text);
    }
    CHECK_INT(r.count, 200); /* bounded, and nobody is lost */
    CHECK_INT(r.other, 1000 - 197);
    rules_release(&r);
    run_release(&run);
}

TEST_MAIN
