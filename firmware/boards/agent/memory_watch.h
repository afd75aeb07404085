/* Checks the memory of a model while it runs: guard words around the arena, and the depth of the stack. */
#ifndef ARENITE_MEMORY_WATCH_H
#define ARENITE_MEMORY_WATCH_H

#include <stdint.h>

/* Writes the guard words around the arena and resets state that is carried between inferences. Called once, at
 * start. */
void ar_prepare(void);

/* Returns the number of bytes of the whole arena, which can be in two memories. */
uint32_t ar_arena_bytes(void);

/* Returns the number of guard words that were overwritten, plus 1 if the second core's stack may have overflowed. */
uint32_t ar_guards_damaged(void);

/* Return the most bytes of stack that were in use so far, and the size of the stack. */
uint32_t ar_stack_used(void);
uint32_t ar_stack_bytes(void);

#endif
