/* device.c - from a word on the command line to a device. The CPU is part of the program; any
 * other backend is a file beside it, loaded when asked for. */
#include "tensor/device.h"
#include "base/err.h"
#include "tensor/cpu/cpu.h"
#include "tensor/ops.h"
#include "tensor/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* darkroom-cuda.so in the folder of the program. 0, or ERR_DEVICE. */
static int plugin_load(const struct device_plugin **out, const char *name)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) return err_set(ERR_DEVICE, "cannot find the folder of the program");
    path[n] = 0;
    char *slash = strrchr(path, '/');
    size_t at = slash ? (size_t)(slash + 1 - path) : 0;
    snprintf(path + at, sizeof path - at, "darkroom-%s.so", name);
    if (access(path, R_OK))
        return err_set(ERR_DEVICE, "no %s plug-in: %s is not there; use --device cpu", name, path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return err_set(ERR_DEVICE, "cannot load the %s plug-in: %s", name, dlerror());
    const struct device_plugin *p = dlsym(library, DEVICE_PLUGIN_SYMBOL);
    if (!p || p->abi != DEVICE_ABI) {
        int abi = p ? p->abi : 0;
        dlclose(library);
        return err_set(ERR_DEVICE,
                       "%s speaks version %d of the device table, not %d: build it again", path,
                       abi, DEVICE_ABI);
    }
    *out = p;
    return 0;
}

static int plugin_open(struct device **out, const char *name, int index, int threads)
{
    const struct device_plugin *p;
    int rc = plugin_load(&p, name);
    return rc ? rc : p->open(out, index, threads);
}

/* "cuda", "cuda:1", "gpu", "gpu:1": 1 and the index; else 0. */
static int is_cuda(const char *spec, int *index)
{
    size_t word = !strncmp(spec, "cuda", 4) ? 4 : !strncmp(spec, "gpu", 3) ? 3 : 0;
    *index = 0;
    if (!word) return 0;
    if (!spec[word]) return 1;
    char *end;
    long i = spec[word] == ':' && spec[word + 1] ? strtol(spec + word + 1, &end, 10) : -1;
    if (i < 0 || i > 1023 || *end) return 0;
    *index = (int)i;
    return 1;
}

static int open_spec(struct device **out, const char *spec, int threads)
{
    int index;
    if (!strcmp(spec, "cpu")) return cpu_open(out, isa_best(), threads);
    if (is_cuda(spec, &index)) return plugin_open(out, "cuda", index, threads);
    if (!strcmp(spec, "auto"))
        return plugin_open(out, "cuda", 0, threads) ? cpu_open(out, isa_best(), threads) : 0;
    return err_set(ERR_USAGE, "--device %s: say auto, cpu, cuda or cuda:N", spec);
}

int device_open(struct device **out, const char *spec, int threads)
{
    *out = NULL;
    int rc = open_spec(out, spec, threads > 0 ? threads : cpu_count());
    if (!rc) (*out)->profile = profile_new(NULL);
    return rc;
}

int device_lane(struct device **out, struct device *d)
{
    *out = NULL;
    int rc = d->ops->lane(d, out);
    if (!rc) (*out)->profile = profile_new(d->profile);
    return rc;
}

void device_close(struct device *d)
{
    if (!d) return;
    profile_free(d->profile);
    d->ops->close(d);
}
