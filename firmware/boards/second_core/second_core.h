/* The second core of a board, as start-up and the protocols use it.
 *
 * AR_SECOND_STACK in firmware_features.h is the size of its stack in bytes; it is undefined if everything runs on one
 * core. The second core's interrupts stay off, and it calls nothing but the halves of layers, so that the stack it
 * needs is known before the build.
 */
#ifndef ARENITE_SECOND_CORE_H
#define ARENITE_SECOND_CORE_H

#include <stdint.h>

#include "firmware_features.h"

#ifdef AR_SECOND_STACK

/* The stack. Start-up aligns the stack pointer, so some bytes at the top may stay unused. */
extern uint32_t ar_second_stack[AR_SECOND_STACK / 4];

/* Runs work for the first core; never returns. */
void ar_second_core(void) __attribute__((noreturn));

/* Reports a fault of the second core: the first core, which waits for it, then restarts. */
void ar_second_failed(void);

/* Waits until the second core no longer accesses memory. Called before the first core restarts. */
void ar_second_settle(void);

/* Returns the most bytes of the second core's stack in use so far; the whole size if it may have overflowed. */
uint32_t ar_second_stack_used(void);

#endif
#endif
