/* about.c - version and device: what this program and this machine are. */
#include "cmd/verbs.h"
#include "base/err.h"
#include "base/version.h"
#include "tensor/device.h"

#include <stdio.h>
#include <jpeglib.h>
#include <spng.h>
#include <webp/decode.h>
#include <zlib.h>
#include <zstd.h>

static int run_version(void *options, const char **args, int nargs)
{
    struct common *c = options;
    unsigned webp = (unsigned)WebPGetDecoderVersion();
    (void)args;
    if (nargs) return err_set(ERR_USAGE, "version takes no argument");
    printf(
        c->json
            ? "{\"darkroom\": \"%s\", \"libjpeg_turbo\": %d, \"spng\": \"%s\", \"webp\": \"%u.%u.%u\", "
              "\"zlib\": \"%s\", \"zstd\": \"%s\", \"isa\": \"%s\"}\n"
            : "darkroom %s\nlibjpeg-turbo API %d, libspng %s, libwebp %u.%u.%u, "
              "zlib %s, zstd %s\ninstruction set: %s\n",
        DARKROOM_VERSION, LIBJPEG_TURBO_VERSION_NUMBER, spng_version_string(), webp >> 16,
        webp >> 8 & 255, webp & 255, zlibVersion(), ZSTD_versionString(), isa_name(isa_best()));
    return 0;
}

static int run_device(void *options, const char **args, int nargs)
{
    struct common *c = options;
    struct device *d;
    (void)args;
    if (nargs) return err_set(ERR_USAGE, "device takes no argument");
    int rc = device_open(&d, c->device, (int)c->threads);
    if (rc) return rc;
    printf(c->json ? "{\"device\": \"%s\", \"kind\": \"%s\", \"lanes\": %d, \"cpus\": %d}\n"
                   : "%s (%s), %d lanes, %d usable CPUs\n",
           d->name, d->kind, d->lanes, cpu_count());
    device_close(d);
    return 0;
}

const struct verb version_verb = {"version",
                                  "",
                                  "versions of darkroom and the libraries it uses",
                                  NULL,
                                  NULL,
                                  NULL,
                                  sizeof(struct common),
                                  run_version};
const struct verb device_verb = {"device",
                                 "",
                                 "the device that would be used here",
                                 "  darkroom device\n  darkroom device --device cpu --json\n",
                                 NULL,
                                 NULL,
                                 sizeof(struct common),
                                 run_device};
