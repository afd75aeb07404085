/* The fields of the record that keeps the state of updates. Boot loader and application may come from different
 * compilers, so the fields are bytes at fixed places, the least significant first. */
#ifndef ARENITE_BOOT_RECORD_H
#define ARENITE_BOOT_RECORD_H

#include "boot.h"

/* The places of the fields. */
enum {
    FIELD_PHASE = 0,
    FIELD_PAIRS = 1,  /* bits of the pairs that are installed or put back */
    FIELD_ACTIVE = 2, /* bit p: the slot of pair p that is in use */
    FIELD_STARTS = 3, /* starts on trial */
    FIELD_OUTCOME = 4,
    FIELD_REASON = 5,
    FIELD_STEP = 6,     /* of the swap, see swap.c */
    FIELD_PAIR = 7,     /* that is swapped */
    FIELD_PAGE = 8,     /* two bytes: the first page of the group that is swapped */
    FIELD_ENDS = 12,    /* two bytes for each pair: the number of pages to swap */
    FIELD_MINIMUM = 16, /* four bytes for each pair: the least security counter */
    FIELD_NEW = 24      /* four bytes for each pair: the security counter of the image on trial */
};

static inline uint32_t field_read(const ar_boot *boot, uint32_t at, uint32_t bytes)
{
    uint32_t value = 0;
    for (uint32_t i = bytes; i-- > 0;) {
        value = value << 8 | boot->record[at + i];
    }
    return value;
}

static inline void field_write(ar_boot *boot, uint32_t at, uint32_t bytes, uint32_t value)
{
    for (uint32_t i = 0; i < bytes; i++) {
        boot->record[at + i] = (uint8_t)(value >> 8 * i);
    }
}

/* Saves the record and waits. Returns 0, or 1 if no block of the memory could be written. */
int ar_boot_save(ar_boot *boot);

/* Swaps the slots of all pairs in FIELD_PAIRS that have a scratch. Returns 0, or 1 if the flash memory failed; the next
 * call goes on where this one stopped. */
int ar_boot_swap(ar_boot *boot);

#endif
