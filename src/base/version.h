/* version.h - who we are. Recorded in receipts, never compared: formats have numbers. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define DARKROOM_VERSION "0.1.0"

#endif
