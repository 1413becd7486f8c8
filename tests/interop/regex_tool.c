/* regex_tool.c - patterns and texts from stdin, one letter each to stdout, for tests that compare
 * with Python's re. Input: u32 length and pattern, u32 count, then u32 length and text each. Output
 * per pattern: a line of 1 and 0, or "E byte: why". */
#include "base/err.h"
#include "text/regex.h"

#include <stdio.h>
#include <stdlib.h>

static int get(uint32_t *n)
{
    return fread(n, sizeof *n, 1, stdin) == 1;
}

static char *get_text(uint32_t *n)
{
    if (!get(n)) exit(1);
    char *p = malloc(*n + 1);
    if (*n && fread(p, *n, 1, stdin) != 1) exit(1);
    return p;
}

int main(void)
{
    uint32_t n, count;
    for (int c; (c = getchar()) != EOF;) {
        ungetc(c, stdin);
        struct regex *r;
        size_t at;
        char *pattern = get_text(&n);
        int rc = regex_new(&r, &at, pattern, n);
        if (rc) printf("E %zu: %s", at, err_text());
        free(pattern);
        if (!get(&count)) return 1;
        for (uint32_t i = 0; i < count; i++) {
            char *text = get_text(&n);
            if (!rc) putchar(regex_find(r, text, n) ? '1' : '0');
            free(text);
        }
        putchar('\n');
        regex_free(r);
    }
    return 0;
}
