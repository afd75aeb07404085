/* Running a model and watching its memory: shared by both serial protocols. */
#include "agent.h"
#include "port.h"

/* The counter when the layer in progress began. */
static uint32_t before;

void ar_profile(uint32_t layer)
{
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    const uint32_t now = port_ticks();
    ticks[layer] += now - before;
    before = now;
}

void ar_resume(void) { before = port_ticks(); }

void ar_clear_ticks(void)
{
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    for (uint32_t i = 0; i < ar_this_firmware.model->layer_count; i++) {
        ticks[i] = 0;
    }
}

void ar_infer(uint32_t fresh, ar_run *run)
{
    const ar_model *model = ar_this_firmware.model;
    const uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    const uint32_t asked = port_ticks();
    if (fresh && model->reset) {
        model->reset();
    }
    if (!model->stream) { /* otherwise layers have run already, while the input came */
        ar_clear_ticks();
    }
    ar_resume();
    run->init = before - asked;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        if (model->layers[i]) {
            model->layers[i]();
            ar_profile(i);
        }
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        total += ticks[i];
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
