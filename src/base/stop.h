/* stop.h - being asked to stop. The first SIGINT, SIGTERM, SIGHUP or SIGUSR1 asks, the second
 * ends the process at once. Whoever waits for something slow looks here now and then. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

void stop_catch_signals(void);
int stop_asked(void); /* by a signal */

/* Waits inside a run that is ending anyway shall end too, signal or not. */
void stop_waits(int end);
int stop_wait_over(void);

#endif
