/* What the generated main.c tells the agent about this firmware. */
#ifndef ARENITE_AGENT_H
#define ARENITE_AGENT_H

#include "arenite.h"

typedef struct {
    const ar_model *model;
    const char *board; /* the profile's name */
    ar_io layer_ticks; /* one uint32_t per layer: ticks of its latest run */
    /* Takes `bytes` of input 0 from `offset` on, and computes what they allow: 1, or 0 when they do not follow what came
     * before (offset 0 begins anew). With no bytes: is the input complete? Asked once; then it must come anew. 0 for a
     * model whose inputs stand whole. */
    uint32_t (*take_rows)(uint32_t offset, const uint8_t *data, uint32_t bytes);
} ar_firmware;

extern const ar_firmware ar_this_firmware;

/* Only for the MLPerf Tiny monitor: it keeps the inputs, because several inferences run on one of them, and prints the
 * first output as real numbers. */
typedef struct ar_monitor ar_monitor;

/* Of a model whose one output is as large as its one input, both int8: the input may come as `count` floats, and then the
 * result is the mean square of their difference from the output, as anomaly detection asks. */
typedef struct ar_reals {
    uint32_t count;
    float scale; /* of the input; only its bits are looked at */
    int32_t zero_point;
    void (*quantize)(int8_t *to, const uint8_t *from, const struct ar_reals *reals);
    uint64_t (*score)(const uint8_t *asked, const int8_t *given,
                      const ar_monitor *monitor); /* in thousandths */
} ar_reals;

struct ar_monitor {
    uint8_t *input;
    uint32_t input_bytes;          /* room; for `reals` that of the floats */
    const ar_reals *reals;         /* 0 for any other model */
    int64_t scale_thousandths_q16; /* of the first output: 1000 * 2^16 * scale */
    int32_t zero_point;
};

extern const ar_monitor ar_this_monitor;

void ar_quantize_reals(int8_t *to, const uint8_t *from, const ar_reals *reals);
uint64_t ar_score(const uint8_t *asked, const int8_t *given, const ar_monitor *monitor);

typedef struct {
    uint64_t total; /* ticks of the whole inference */
    uint32_t init;  /* ticks from the request to the start of the first layer */
} ar_run;

/* One inference, of which a streamed input has begun: fills the layer ticks. `fresh` puts carried state back to its first
 * value before. */
void ar_infer(uint32_t fresh, ar_run *run);

/* Counting: the ticks of all layers to 0; those since the latest `ar_resume` or `ar_profile` to a layer. */
void ar_clear_ticks(void);
void ar_resume(void);
void ar_profile(uint32_t layer);

/* `ar_firmware.take_rows` of a model that takes its input row by row. */
uint32_t ar_take_rows(uint32_t offset, const uint8_t *data, uint32_t bytes);

/* Write the guard words around the arena, and carried state its first value: once, at start. */
void ar_prepare(void);

/* Bytes of the whole arena, whether it lies in one memory or in two. */
uint32_t ar_arena_bytes(void);

/* Number of guard words that no longer have their value. */
uint32_t ar_guards_damaged(void);

/* Bytes of stack used at the deepest so far, and bytes there are. */
uint32_t ar_stack_used(void);
uint32_t ar_stack_bytes(void);

/* Serve the host; never returns. */
void ar_serve(void) __attribute__((noreturn));

#endif
