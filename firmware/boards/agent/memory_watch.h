/* The memory of a model while it runs: guard words around the arena, and the depth of the stack. */
#ifndef ARENITE_MEMORY_WATCH_H
#define ARENITE_MEMORY_WATCH_H

#include <stdint.h>

/* Writes the guard words around the arena and gives carried state its first value. Called once, at start. */
void ar_prepare(void);

/* Bytes of the whole arena, in one memory or in two. */
uint32_t ar_arena_bytes(void);

/* Number of guard words that no longer have their value. */
uint32_t ar_guards_damaged(void);

/* The most bytes of stack that were in use so far, and the bytes that there are. */
uint32_t ar_stack_used(void);
uint32_t ar_stack_bytes(void);

#endif
