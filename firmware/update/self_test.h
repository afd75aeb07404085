/* Runs a model on samples whose outputs are known, and compares the CRC-32 of the outputs. One wrong byte of the weights,
 * of the code or of the outputs makes it fail. It needs no other memory than the arena and the stack. */
#ifndef ARENITE_SELF_TEST_H
#define ARENITE_SELF_TEST_H

#include "arenite.h"

typedef struct {
    const uint8_t
        *inputs;   /* the bytes of all inputs, one input after the other; 0: they are made from `seed` */
    uint32_t seed; /* not 0 */
    uint32_t crc;  /* CRC-32 of the bytes of all outputs, one output after the other */
} ar_golden_sample;

typedef struct {
    const ar_golden_sample *samples;
    uint32_t count;
} ar_golden;

/* The results of ar_self_test. The others are 1 + the number of the first sample with wrong outputs. */
enum { AR_SELF_TEST_PASSED = 0, AR_SELF_TEST_NO_SAMPLES = 254, AR_SELF_TEST_ARENA = 255 };
/* The most samples that ar_golden may have. */
enum { AR_GOLDEN_MAX = 200 };

/* Runs all samples. It calls `alive` before each layer, so that a watchdog can be fed; 0: it calls nothing.
 * AR_SELF_TEST_ARENA: a layer wrote beyond the arena. The model's state is reset before and after the samples. */
uint32_t ar_self_test(const ar_model *model, const ar_golden *golden, void (*alive)(void));

/* The parts of a test of one sample: write its inputs, and run the layers. */
void ar_self_test_fill(const ar_model *model, const ar_golden_sample *sample);
void ar_self_test_run(const ar_model *model, void (*alive)(void));

#endif
