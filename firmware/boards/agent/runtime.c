/* Running a model and watching its memory: shared by both serial protocols. */
#include "agent.h"
#include "health.h"
#include "port.h"
#ifdef AR_SECOND_STACK
#include "second_core.h"
#endif

/* The counter when the layer in progress began. */
static uint32_t before;

void ar_profile(uint32_t layer)
{
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    const uint32_t now = port_ticks();
    ticks[layer] += now - before;
    before = now;
    health_alive();
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
    port_computing(1);
    ar_resume();
    run->init = before - asked;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        if (model->layers[i]) {
            model->layers[i]();
            ar_profile(i);
        }
    }
    port_computing(0);
    uint64_t total = 0;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        total += ticks[i];
    }
    run->total = total;
}

uint32_t ar_arena_bytes(void)
{
    const ar_model *model = ar_this_firmware.model;
    return model->arena_bytes + (model->slow ? model->slow->bytes : 0);
}

/* How many guard words there are: around the arena, or around each of its two parts. */
static uint32_t guard_words(void)
{
    return ar_this_firmware.model->slow ? 4 * AR_GUARD_WORDS : 2 * AR_GUARD_WORDS;
}

/* The guard words stand directly before and after the bytes that they guard. */
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
    health_start();
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
