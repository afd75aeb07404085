#include "self_test.h"

/* Returns the next byte of the generator xorshift32. */
static uint8_t random_byte(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return (uint8_t)(x >> 24);
}

void ar_self_test_fill(const ar_model *model, const ar_golden_sample *sample)
{
    const uint8_t *from = sample->inputs;
    uint32_t state = sample->seed;
    for (uint32_t i = 0; i < model->input_count; i++) {
        uint8_t *to = model->inputs[i].data;
        for (uint32_t left = model->inputs[i].bytes; left; left--) {
            *to++ = from ? *from++ : random_byte(&state);
        }
    }
}

void ar_self_test_run(const ar_model *model, void (*alive)(void))
{
    for (uint32_t i = 0; i < model->layer_count; i++) {
        if (alive) {
            alive();
        }
        if (model->layers[i]) {
            model->layers[i]();
        }
    }
}

static uint32_t outputs_crc(const ar_model *model)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < model->output_count; i++) {
        const uint8_t *from = model->outputs[i].data;
        for (uint32_t left = model->outputs[i].bytes; left; left--) {
            crc ^= *from++;
            for (uint32_t bit = 0; bit < 8; bit++) {
                crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
            }
        }
    }
    return ~crc;
}

/* The guard words behind the arena. */
static uint32_t *guards_behind(const ar_model *model)
{
    return model->guards + AR_GUARD_WORDS + model->arena_bytes / 4;
}

static void write_guards(const ar_model *model)
{
    for (uint32_t i = 0; i < AR_GUARD_WORDS; i++) {
        model->guards[i] = guards_behind(model)[i] = AR_GUARD;
    }
}

static uint32_t has_guards(const ar_model *model)
{
    for (uint32_t i = 0; i < AR_GUARD_WORDS; i++) {
        if (model->guards[i] != AR_GUARD || guards_behind(model)[i] != AR_GUARD) {
            return 0;
        }
    }
    return 1;
}

static void reset_state(const ar_model *model)
{
    if (model->reset) {
        model->reset();
    }
}

uint32_t ar_self_test(const ar_model *model, const ar_golden *golden, void (*alive)(void))
{
    uint32_t result = golden->count ? AR_SELF_TEST_PASSED : AR_SELF_TEST_NO_SAMPLES;
    write_guards(model);
    for (uint32_t k = 0; k < golden->count && result == AR_SELF_TEST_PASSED; k++) {
        reset_state(model);
        ar_self_test_fill(model, &golden->samples[k]);
        ar_self_test_run(model, alive);
        if (!has_guards(model)) {
            result = AR_SELF_TEST_ARENA;
        } else if (outputs_crc(model) != golden->samples[k].crc) {
            result = k + 1;
        }
    }
    reset_state(model);
    return result;
}
