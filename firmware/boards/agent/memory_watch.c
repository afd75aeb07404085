/* Checks the guard words around the arena, and measures the stack; see memory_watch.h. */
#include "memory_watch.h"

#include "port.h"
#include "this_firmware.h"
#ifdef AR_SECOND_STACK
#include "second_core.h"
#endif

uint32_t ar_arena_bytes(void)
{
    const ar_model *model = ar_this_firmware.model;
    return model->arena_bytes + (model->slow ? model->slow->bytes : 0);
}

/* Returns the number of guard words around the arena, or around both its parts if it is in two memories (`slow`). */
static uint32_t guard_words(void)
{
    return ar_this_firmware.model->slow ? 4 * AR_GUARD_WORDS : 2 * AR_GUARD_WORDS;
}

/* Returns the address of guard word `index`. Guard words are directly before and after the bytes that they guard. */
static uint32_t *guard(uint32_t index)
{
    const ar_model *model = ar_this_firmware.model;
    ar_arena_part part = {model->guards, model->arena_bytes};
    if (index >= 2 * AR_GUARD_WORDS) {
        part = *model->slow;
        index -= 2 * AR_GUARD_WORDS;
    }
    return part.guards + index + (index < AR_GUARD_WORDS ? 0 : part.bytes / 4);
}

void ar_prepare(void)
{
    for (uint32_t i = 0; i < guard_words(); i++) {
        *guard(i) = AR_GUARD;
    }
    if (ar_this_firmware.model->reset) {
        ar_this_firmware.model->reset();
    }
}

uint32_t ar_guards_damaged(void)
{
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < guard_words(); i++) {
        damaged += *guard(i) != AR_GUARD;
    }
#ifdef AR_SECOND_STACK
    damaged += ar_second_stack_used() >= AR_SECOND_STACK;
#endif
    return damaged;
}

#ifndef PORT_FRAMEWORK
extern uint32_t ar_stack_low[], ar_stack_top[];

uint32_t ar_stack_bytes(void)
{
    return (uint32_t)(uintptr_t)ar_stack_top - (uint32_t)(uintptr_t)ar_stack_low;
}

uint32_t ar_stack_used(void)
{
    const uint32_t *word = ar_stack_low;
    while (*word == PORT_STACK_PAINT) {
        word++;
    }
    return (uint32_t)(uintptr_t)ar_stack_top - (uint32_t)(uintptr_t)word;
}
#endif
