/* Running a model and watching its memory: shared by both serial protocols. */
#include "agent.h"
#include "port.h"

void ar_infer(uint32_t fresh, ar_run *run)
{
    const ar_model *model = ar_this_firmware.model;
    const ar_layer_fn *layer = model->layers;
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    uint32_t left = model->layer_count;
    const uint32_t asked = port_ticks();
    if (fresh && model->reset) {
        model->reset();
    }
    uint32_t before = port_ticks();
    uint64_t total = 0;
    run->init = before - asked;
    while (left--) {
        (*layer++)();
        const uint32_t now = port_ticks();
        *ticks++ = now - before;
        total += now - before;
        before = now;
    }
    run->total = total;
}

/* The guard words stand directly before and after the arena. */
static uint32_t *guard(uint32_t index)
{
    const ar_model *model = ar_this_firmware.model;
    return model->guards + index + (index < AR_GUARD_WORDS ? 0 : model->arena_bytes / 4);
}

void ar_prepare(void)
{
    for (uint32_t i = 0; i < 2 * AR_GUARD_WORDS; i++) {
        *guard(i) = AR_GUARD;
    }
    if (ar_this_firmware.model->reset) {
        ar_this_firmware.model->reset();
    }
}

uint32_t ar_guards_damaged(void)
{
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < 2 * AR_GUARD_WORDS; i++) {
        damaged += *guard(i) != AR_GUARD;
    }
    return damaged;
}

#ifndef ARDUINO
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
