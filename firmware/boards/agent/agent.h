/* The serial agent: it runs the model for a host, through the Arenite protocol or the MLPerf Tiny monitor. */
#ifndef ARENITE_AGENT_H
#define ARENITE_AGENT_H

#include "arenite.h"
#include "memory_watch.h"
#include "this_firmware.h"

/* The data of the MLPerf Tiny monitor. It stores the inputs, because several inferences run on the same input, and
 * prints the first output as real numbers. */
typedef struct ar_monitor ar_monitor;

/* For a model with one input and one output of the same size, both int8. The input may be sent as `count` floats; the
 * result is then the mean square of their difference from the output, as in MLPerf's anomaly detection. */
typedef struct ar_reals {
    uint32_t count;
    float scale; /* scale of the input; the code uses its bits, and no float arithmetic */
    int32_t zero_point;
    void (*quantize)(int8_t *to, const uint8_t *from, const struct ar_reals *reals);
    uint64_t (*score)(const uint8_t *input, const int8_t *output,
                      const ar_monitor *monitor); /* returns the score in thousandths */
} ar_reals;

struct ar_monitor {
    uint8_t *input;
    uint32_t input_bytes;          /* size of `input`; if `reals` is not 0, room for its floats */
    const ar_reals *reals;         /* 0 for models that ar_reals does not support */
    int64_t scale_thousandths_q16; /* 1000 * 2^16 * scale of the first output */
    int32_t zero_point;            /* of the first output */
};

extern const ar_monitor ar_this_monitor;

/* The functions of ar_reals: the first quantizes `reals->count` floats at `from` and writes them to `to`; the second
 * returns the mean square of the difference between the floats at `input` and the output, in thousandths. */
void ar_quantize_reals(int8_t *to, const uint8_t *from, const ar_reals *reals);
uint64_t ar_score(const uint8_t *input, const int8_t *output, const ar_monitor *monitor);

typedef struct {
    uint64_t total; /* ticks of the whole inference */
    uint32_t init;  /* ticks from the request to the start of the first layer */
} ar_run;

/* Runs one inference, and writes its ticks to `run` and to the layer ticks. Layers that ran while a streamed input
 * arrived are not run again. If `fresh` is not 0, it first resets the state that the model carries between
 * inferences. */
void ar_infer(uint32_t fresh, ar_run *run);

/* These functions count the ticks of the layers. ar_clear_ticks sets the ticks of all layers to 0. ar_resume stores the
 * current time. ar_profile adds the ticks since the latest call of ar_resume or ar_profile to `layer`. */
void ar_clear_ticks(void);
void ar_resume(void);
void ar_profile(uint32_t layer);

/* Implements `ar_firmware.take_rows` for a model that takes its input row by row. */
uint32_t ar_take_rows(uint32_t offset, const uint8_t *data, uint32_t bytes);

/* Serves the host; never returns. */
void ar_serve(void) __attribute__((noreturn));

#endif
