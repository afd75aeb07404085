/* A model as data that may be at any address: the payload of a model's image on boards where the address is not known
 * before the start. `arenite update build` makes it.
 *
 * It begins with a header of 32-bit little-endian words (MODEL_DATA_WORDS). The block has everything that contains
 * addresses: parameters of layers, tables, samples. It is copied to RAM, where the addresses are filled in. The weights
 * stay where they are. Each fixup is one word: a kind in the upper two bits, and the offset of a word in the block in the
 * others. That word is an offset in the memory of its kind, or the number of a function. */
#ifndef ARENITE_MODEL_DATA_H
#define ARENITE_MODEL_DATA_H

#include "arenite.h"
#include "self_test.h"

#define MODEL_DATA_MAGIC 0x41524D44u
enum { MODEL_DATA_VERSION = 1 };
/* The words of the header. Offsets are from the start of the payload, except for the last two, which are from the start
 * of the block. All are multiples of 4. */
enum {
    MODEL_DATA_WORD_MAGIC,
    MODEL_DATA_WORD_VERSION,
    MODEL_DATA_WORD_BYTES, /* of the payload */
    MODEL_DATA_WORD_BLOCK,
    MODEL_DATA_WORD_BLOCK_BYTES,
    MODEL_DATA_WORD_FIXUPS,
    MODEL_DATA_WORD_FIXUP_COUNT,
    MODEL_DATA_WORD_MODEL,  /* ar_model */
    MODEL_DATA_WORD_GOLDEN, /* ar_golden */
    MODEL_DATA_WORDS
};
/* The kinds of fixups. */
enum { MODEL_DATA_IN_PAYLOAD, MODEL_DATA_IN_BLOCK, MODEL_DATA_IN_ARENA, MODEL_DATA_FUNCTION };

/* What the firmware has for its model. */
typedef struct {
    void *block; /* aligned to 16 bytes */
    uint32_t block_bytes;
    uint8_t *arena; /* with its guard words */
    uint32_t arena_bytes;
    const ar_layer_fn *functions;
    uint32_t function_count;
} model_data_target;

typedef struct {
    const ar_model *model;
    const ar_golden *golden;
} model_data;

/* Copies the block and fills in the addresses. `payload` is aligned to 4 bytes. Returns 0, or 1 if the payload was not
 * made for this firmware. */
int model_data_load(const void *payload, uint32_t bytes, const model_data_target *target, model_data *data);

#endif
