/* main.c - the verb table. */
#include <stdio.h>

int main(void)
{
    puts("darkroom");
    return 0;
}
