/* braces.h - `{000..150}` and `{a,b}`, expanded as bash and webdataset do. */
#ifndef DATA_BRACES_H
#define DATA_BRACES_H

#include "io/place.h"

/* Add every name that the pattern stands for, the leftmost group changing slowest. Groups nest;
 * ranges are of numbers (zero padding kept) or letters, may run backwards and have a step
 * ({10..0..5}); `\` takes the meaning from the next character and disappears; {x} without comma
 * or range is itself. ERR_USAGE: unbalanced braces, more than limit names, over 64 KiB of
 * pattern, over 32 levels. */
int braces_expand(struct names *out, const char *pattern, size_t limit);

#endif
