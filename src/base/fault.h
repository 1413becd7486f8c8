/* fault.h - places where the tests kill us. With $DARKROOM_CRASH=point:n the n-th passage
 * through that point (1 = first) ends the process by SIGKILL, as a power cut would. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

void fault_point(const char *point);

#endif
