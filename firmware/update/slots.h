/* The memories of a board with updates, for its boot loader and its firmware: the state, two slots for firmware, two
 * slots for a model, and the scratch. Their addresses are in update_layout.h, which is generated for each board. */
#ifndef ARENITE_SLOTS_H
#define ARENITE_SLOTS_H

#include "boot.h"

/* The pairs of ar_boot. */
enum { AR_SLOTS_FIRMWARE, AR_SLOTS_MODEL, AR_SLOTS_PAIRS };

/* Starts on trial, at most. */
enum { AR_SLOTS_TRIALS = 3 };

typedef struct {
    ar_flash state, scratch;
    ar_flash slots[AR_SLOTS_PAIRS][2];
    const uint8_t *public_key; /* for ar_slots_check */
    const char *board;
} ar_slots;

/* Fills `slots` with the memories of the board, and `boot` with all that ar_boot_start needs except `check`. Both must
 * stay valid. `check` is ar_slots_check in the boot loader; it costs about 12 KB of code. */
void ar_slots_start(ar_slots *slots, ar_boot *boot);

/* The check of ar_boot: ar_image_check with the rules of the slot. `context` is the ar_slots, whose `public_key` and
 * `board` must be set. The payload must begin where code or model was linked. The ABI hashes may be any; ar_boot compares
 * them. */
int ar_slots_check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image);

#endif
