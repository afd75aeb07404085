/* Keeps one record in flash through power cuts.
 *
 * Each save writes a new copy of the record, a slot: a counter, the record, a CRC-32. Slots fill a block, which is one
 * page, or several pages if a record is longer than a page. A full block is followed by the next one, in a circle, so
 * that all pages wear equally. The block with the newest copy is never erased.
 *
 * After a power cut at any moment, ar_store_start finds either the record of the last save for which ar_store_step
 * returned AR_STORE_SAVED, or that of a later save that was cut or failed, if all of it is in flash. It never finds an
 * older one, or parts of two. There are two limits. A CRC-32 takes 1 of 2^32 random errors for correct. And bits that
 * were programmed when the power failed must read the same at each start. Otherwise a start may find the record of
 * such a save, and a later start not.
 *
 * No slot is used that a cut may have touched: the first save after a start erases the next block. A start with a save
 * therefore costs one erasure of a block, and each further block of saves another one. */
#ifndef ARENITE_STATE_STORE_H
#define ARENITE_STATE_STORE_H

#include "flash.h"

/* The largest unit of a flash memory, in bytes. ar_store_step has an array of this size on the stack. */
#ifndef AR_STORE_MAX_UNIT
#define AR_STORE_MAX_UNIT 32
#endif
#if AR_STORE_MAX_UNIT < 1 || (AR_STORE_MAX_UNIT & (AR_STORE_MAX_UNIT - 1)) != 0
#error "AR_STORE_MAX_UNIT must be a power of two."
#endif

/* ar_store_start: */
enum {
    AR_STORE_UNSUITABLE = -1, /* fewer than two blocks, or a unit that the store does not know */
    AR_STORE_EMPTY = 0,       /* there is no record */
    AR_STORE_LOADED = 1       /* `copy` has the newest record */
};

/* ar_store_step: */
enum {
    AR_STORE_FAILED =
        -1, /* the record could not be written to any block; the last one that was saved is still there */
    AR_STORE_IDLE = 0, /* nothing to do */
    AR_STORE_BUSY = 1, /* call it again */
    AR_STORE_SAVED = 2 /* the save is complete */
};

/* The fields belong to the store. */
typedef struct {
    const ar_flash *flash;
    uint8_t *copy;
    uint32_t bytes;       /* of the record */
    uint32_t tag;         /* start of the CRC */
    uint32_t slot_bytes;  /* counter, record, CRC, up to a whole unit */
    uint32_t block_pages; /* pages of a block */
    uint32_t slots;       /* slots of a block */
    uint32_t blocks;
    uint32_t counter; /* one less than that of the next slot */
    uint32_t block;   /* that has the newest record */
    uint32_t next;    /* block that is written */
    uint32_t slot;    /* of `next` that is written; `slots` if the block must be changed */
    uint32_t at;      /* page of the block, or byte of the slot, at which the next step works */
    uint32_t crc;     /* of the slot up to `at` */
    uint32_t tries;   /* blocks that failed in this save */
    uint8_t phase;
} ar_store;

/* Prepares the store and finds the newest record, which it writes to `copy`.
 *
 * `bytes`: size of a record, at least 1. `copy`: `bytes` bytes that belong to the store from now on. `tag`: a number
 * that changes when the meaning of the record changes: records with another tag or size are not found. It reads all
 * pages, so call it before the loop. `flash` must stay valid. */
int ar_store_start(ar_store *store, const ar_flash *flash, uint32_t bytes, uint32_t tag, void *copy);

/* Begins to save `record`. Copies it, so it may change at once. Returns 1, or 0 if another save is still running. If
 * `record` is 0, the caller has written the record to `copy` while no save was running. */
int ar_store_save(ar_store *store, const void *record);

/* Does a small part of a save: begins to erase at most one page, or to program at most 16 bytes or one unit, or reads
 * at most AR_STORE_MAX_UNIT bytes. Call it in each round of the loop. */
int ar_store_step(ar_store *store);

#endif
