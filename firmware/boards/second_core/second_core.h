/* The second core of a board, as start-up and the protocols use it.
 *
 * AR_SECOND_STACK, of firmware_features.h, is the size of its stack in bytes; undefined where all runs on one core. Its interrupts
 * stay off, and it calls nothing but the halves of layers: the stack that they need is known before the build.
 */
#ifndef ARENITE_SECOND_CORE_H
#define ARENITE_SECOND_CORE_H

#include <stdint.h>

#include "firmware_features.h"

#ifdef AR_SECOND_STACK

/* Aligned by start-up, so some bytes may stay unused at the top. */
extern uint32_t ar_second_stack[AR_SECOND_STACK / 4];

/* Serve the first core; never returns. */
void ar_second_core(void) __attribute__((noreturn));

/* The second core met a fault: the first one, which waits for it, has to start again. */
void ar_second_failed(void);

/* Wait until the second core touches nothing any more: before the first one starts again. */
void ar_second_settle(void);

/* Bytes of its stack used at the deepest so far; all of them when it may have overflowed. */
uint32_t ar_second_stack_used(void);

#endif
#endif
