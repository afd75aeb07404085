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

/* One input or output of the model. The host (or the user's code) reads or writes it at `data`. */
typedef struct {
    void *data;
    uint32_t bytes;
    uint32_t dtype; /* AR_FLOAT32 ... */
} ar_io;

typedef void (*ar_layer_fn)(void);

/* The guard words before and after the arena have this value. Any other value means that a write overran the arena. */
#define AR_GUARD 0xA2E41735u
#define AR_GUARD_WORDS 4

/* The part of the arena that is in a second memory. */
typedef struct {
    uint32_t *guards; /* points to AR_GUARD_WORDS guard words, the bytes, and AR_GUARD_WORDS guard words */
    uint32_t bytes;   /* size without the guard words; a multiple of 16 */
} ar_arena_part;

typedef struct {
    const char *name;
    uint8_t hash[8]; /* first eight bytes of the SHA-256 of the image (the converted model) */
    const ar_io *inputs;
    const ar_io *outputs;
    /* Call these functions in order for one inference. An entry is 0 if an earlier entry also runs that layer. */
    const ar_layer_fn *layers;
    ar_layer_fn reset; /* resets the state that is carried between inferences; 0 if the model has no state */
    uint32_t *guards;  /* points to AR_GUARD_WORDS guard words, the arena, and AR_GUARD_WORDS guard words */
    uint32_t arena_bytes; /* size of the arena, or of its part in the first memory; a multiple of 4 */
    uint16_t layer_count;
    uint8_t input_count;
    uint8_t output_count;
    const struct ar_segment *
        stream; /* takes input 0 row by row before the layers run, see stream.h; 0 if the model does not stream */
    const ar_arena_part *slow; /* the part of the arena in a second memory; 0 if the arena is in one memory */
} ar_model;

#endif
