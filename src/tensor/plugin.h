/* plugin.h - a backend in a file of its own, darkroom-cuda.so beside the program.
 * It exports one symbol, a struct device_plugin named DEVICE_PLUGIN_SYMBOL. */
#ifndef TENSOR_PLUGIN_H
#define TENSOR_PLUGIN_H

#include "tensor/device.h"

enum { DEVICE_ABI = 2 }; /* counts every change of device.h */
#define DEVICE_PLUGIN_SYMBOL "darkroom_device"

struct device_plugin {
    int abi; /* DEVICE_ABI of its build; any other number is refused */
    int (*open)(struct device **out, int index, int threads);
};

#endif
