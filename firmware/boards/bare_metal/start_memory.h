/* The part of start-up that all cores share: it paints the stack, copies the initial values of .data and clears
 * .bss. */
#ifndef ARENITE_START_MEMORY_H
#define ARENITE_START_MEMORY_H

#include "port.h"

extern uint32_t ar_stack_low[], ar_stack_top[];
extern uint32_t ar_data_start[], ar_data_end[], ar_data_load[];
extern uint32_t ar_bss_start[], ar_bss_end[];

uint32_t port_reason __attribute__((section(".noinit.port_reason")));

static inline void prepare_memory(void)
{
    uint32_t *word, *from;
    /* Paint the stack up to 16 words below this function's own frame. */
    for (word = ar_stack_low; word < (uint32_t *)__builtin_frame_address(0) - 16; word++) {
        *word = PORT_STACK_PAINT;
    }
    for (word = ar_data_start, from = ar_data_load; word < ar_data_end;) {
        *word++ = *from++;
    }
    /* cppcheck-suppress comparePointers ; both symbols are in one section */
    for (word = ar_bss_start; word < ar_bss_end;) {
        *word++ = 0;
    }
}

#endif
