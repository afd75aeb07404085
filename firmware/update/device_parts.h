/* What the files of the device's side share. */
#ifndef ARENITE_DEVICE_PARTS_H
#define ARENITE_DEVICE_PARTS_H

#include "device_types.h"

enum { PIECE_BYTES = 64 }; /* that are read or programmed in one step: a multiple of each unit */

/* What an image says about itself. Nothing of it is checked. */
typedef struct {
    uint32_t version[4];
    uint8_t hash[AR_SMP_HASH_BYTES];
    uint8_t abi[AR_BOOT_ABI_BYTES]; /* zeros if it has none */
    uint32_t key_at; /* offset of the hash of its key, which has AR_SMP_HASH_BYTES bytes; 0 if it has none */
    uint8_t kind;    /* pair + 1: AR_IMAGE_FIRMWARE or AR_IMAGE_MODEL of image.h; 0 if it has none */
} device_image;

/* Returns 1, or 0 if the slot has no complete image. */
int device_read_image(const ar_flash *slot, device_image *image);

/* Returns the flash memory of slot 0, the one in use, or of slot 1. */
const ar_flash *device_slot(const ar_update *update, uint32_t pair, uint32_t slot);

int device_is_equal(const uint8_t *a, const uint8_t *b, uint32_t bytes);
/* Returns whether an operation on the flash memory runs. */
int device_is_busy(const ar_flash *flash);

/* Begins to save the state: `result` is that of the function of ar_boot. Returns AR_SMP_AGAIN or an error. */
int device_begin_save(ar_update *update, int result);
/* Returns AR_SMP_AGAIN while the save runs, then AR_SMP_OK or an error. */
int device_end_save(ar_update *update);

/* The actions of ar_smp. */
int device_get_slot(void *context, uint32_t index, ar_smp_slot *slot);
int device_test(void *context, const uint8_t *hash);
int device_confirm(void *context, const uint8_t *hash);
int device_group(void *context, uint32_t group, uint32_t command, ar_cbor_writer *answer);
int device_begin(void *context, const ar_smp_upload *upload);
int device_write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes);
int device_end(void *context, const ar_smp_upload *upload);
int device_erase(void *context, uint32_t slot);

#endif
