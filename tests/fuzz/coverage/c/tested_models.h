/* Generated models for a program with sanitizers. A generated file defines the list tested_models. */
#ifndef ARENITE_TESTED_MODELS_H
#define ARENITE_TESTED_MODELS_H

#include <string.h>

#include "arenite.h"

typedef struct {
    const ar_model *model;
    /* For a model that takes its input row by row; otherwise 0. */
    void (*begin_rows)(void);
    int8_t *(*next_row)(void);
    void (*row_ready)(void);
    uint32_t row_bytes;
} tested_model;

extern const tested_model tested_models[];
extern const uint32_t tested_model_count;

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define UNKNOWN_CONTENTS(data, bytes) __msan_poison((data), (bytes))
#endif
#endif
#ifndef UNKNOWN_CONTENTS
#define UNKNOWN_CONTENTS(data, bytes) (void)(data)
#endif

/* Fills the arena with a byte. MemorySanitizer still reports a read of a byte that the model has not written. */
static inline void prepare_arena(const tested_model *tested, uint8_t byte)
{
    const ar_model *model = tested->model;
    memset(model->guards + AR_GUARD_WORDS, byte, model->arena_bytes);
    UNKNOWN_CONTENTS(model->guards + AR_GUARD_WORDS, model->arena_bytes);
    if (model->slow) {
        memset(model->slow->guards + AR_GUARD_WORDS, byte, model->slow->bytes);
        UNKNOWN_CONTENTS(model->slow->guards + AR_GUARD_WORDS, model->slow->bytes);
    }
}

static inline void reset_model(const tested_model *tested)
{
    if (tested->model->reset) {
        tested->model->reset();
    }
}

/* Copies input number `index` of the model from `data`. */
static inline void give_input(const tested_model *tested, uint32_t index, const uint8_t *data)
{
    if (tested->begin_rows) {
        int8_t *row;
        tested->begin_rows();
        while ((row = tested->next_row()) != 0) {
            memcpy(row, data, tested->row_bytes);
            data += tested->row_bytes;
            tested->row_ready();
        }
    } else {
        memcpy(tested->model->inputs[index].data, data, tested->model->inputs[index].bytes);
    }
}

static inline void compute(const tested_model *tested)
{
    for (uint32_t i = 0; i < tested->model->layer_count; i++) {
        if (tested->model->layers[i]) {
            tested->model->layers[i]();
        }
    }
}

#endif
