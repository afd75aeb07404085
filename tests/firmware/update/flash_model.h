/* A model of the flash memories of a device. It enforces their rules and interrupts their operations.
 *
 * Each memory is erased by page and programmed by unit, and each unit once between two erasures. Some units, whose
 * programming was interrupted, read differently after each start, or, if units have check bits, cannot be read. */
#ifndef FLASH_MODEL_H
#define FLASH_MODEL_H

#include "flash.h"

enum { MAX_MEMORIES = 8 };

typedef struct {
    uint32_t page_bytes, unit_bytes;
    int check_bits; /* 1 if units have check bits */
} model_geometry;

/* What a unit is. */
enum { UNIT_ERASED, UNIT_PROGRAMMED, UNIT_UNSTABLE };

struct model;
typedef struct {
    struct model *model;
    uint32_t pages, start; /* `start`: offset of the first page in the model */
} model_memory;

typedef struct model {
    model_geometry geometry;
    model_memory memories[MAX_MEMORIES];
    ar_flash flashes[MAX_MEMORIES];
    uint32_t count, bytes;
    uint8_t *content, *wanted; /* `wanted`: the bits that unstable units were to have */
    uint8_t *units;
    uint8_t *unreadable;
    uint32_t random;
    uint32_t operations;
    const char *violation; /* of a rule, or 0 */
    /* Called before each operation that changes a memory. */
    void (*before)(struct model *model, uint32_t memory, int erases, uint32_t at, const void *data);
    void *context;
} model;

/* `pages` has the number of pages of each memory. */
void model_create(model *m, const model_geometry *geometry, const uint32_t *pages, uint32_t count);
void model_destroy(model *m);
void model_copy(model *to, const model *from);
/* Turns the power on: unstable units get other bits. */
void model_restart(model *m);
/* Does a part of an operation, as if power failed in it. */
void model_interrupt(model *m, uint32_t memory, int erases, uint32_t at, const void *data);
uint32_t model_random(model *m);

#endif
