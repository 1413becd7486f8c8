/* scratch_place.h - a place of its own for a test, in a folder that goes with it. */
#ifndef SCRATCH_PLACE_H
#define SCRATCH_PLACE_H

#include "test.h"
#include "base/err.h"
#include "io/place.h"

static struct place *make(void)
{
    static char path[64];
    struct place *p = NULL;
    snprintf(path, sizeof path, "/tmp/darkroom-test-XXXXXX");
    if (!mkdtemp(path) || place_open(&p, path, 1)) TEST_FAIL("no place: %s", err_text());
    return p;
}

static void unmake(struct place *p)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", place_url(p));
    CHECK_INT(system(cmd), 0);
    place_close(p);
}

#endif
