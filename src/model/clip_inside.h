/* clip_inside.h - struct clip, for clip.c and runner.c only. */
#ifndef MODEL_CLIP_INSIDE_H
#define MODEL_CLIP_INSIDE_H

#include <pthread.h>

#include "model/tower.h"

struct clip {
    struct device *dev;
    struct model model;        /* weights NULL once hashed */
    struct clip_config whole;  /* of the file */
    struct clip_config config; /* of the towers asked for */
    struct params params;
    struct tower image, text;
    float lut[3][256];
    pthread_mutex_t lock;
    pthread_t hasher;
    int hashing; /* the thread runs or has not been joined */
    char fingerprint[65];
};

#endif
