/* The interface between a generated model and the code that runs it.
 *
 * A generated model is constant data and a list of functions, one per layer. Nothing is initialized at run
 * time: the planned arena is a static array, and every address in it is a link-time constant.
 */
#ifndef ARENITE_H
#define ARENITE_H

#include <stdint.h>

/* Element types of inputs and outputs; the values are those of the TFLite schema's TensorType. */
enum { AR_FLOAT32 = 0, AR_INT32 = 2, AR_UINT8 = 3, AR_INT64 = 4, AR_BOOL = 6, AR_INT16 = 7, AR_INT8 = 9 };

/* One input or output: its address, where the host (or user code) reads or writes it. */
typedef struct {
    void *data;
    uint32_t bytes;
    uint32_t dtype;
} ar_io;

typedef void (*ar_layer_fn)(void);

/* A guard word before and after the arena keeps this value; any other value means an overrun. */
#define AR_GUARD 0xA2E41735u
#define AR_GUARD_WORDS 4

/* A part of the arena in its own memory. */
typedef struct {
    uint32_t *guards; /* AR_GUARD_WORDS before the bytes, the bytes, AR_GUARD_WORDS after them */
    uint32_t bytes;   /* a multiple of 16 */
} ar_arena_part;

typedef struct {
    const char *name;
    uint8_t hash[8]; /* first eight bytes of the image's SHA-256 */
    const ar_io *inputs;
    const ar_io *outputs;
    const ar_layer_fn
        *layers; /* call them in order for one inference; an entry is 0 if an earlier one runs that layer */
    ar_layer_fn reset;    /* resets state carried between inferences; 0 if the model has none */
    uint32_t *guards;     /* AR_GUARD_WORDS before the arena, the arena, AR_GUARD_WORDS after it */
    uint32_t arena_bytes; /* of the arena, or of its first part; a multiple of 4 */
    uint16_t layer_count;
    uint8_t input_count;
    uint8_t output_count;
    const struct ar_segment *
        stream; /* takes input 0 row by row before the layers run, see stream.h; 0 if the model does not stream */
    const ar_arena_part *slow; /* the part of the arena in a second memory; 0 if there is none */
} ar_model;

#endif
