/* The structures of device.h. */
#ifndef ARENITE_UPDATE_DEVICE_TYPES_H
#define ARENITE_UPDATE_DEVICE_TYPES_H

#include "boot.h"
#include "coded_frames.h"
#include "sha256.h"
#include "smp.h"

/* What the application gives. It must stay valid. */
typedef struct {
    const char *board;                 /* name of the board */
    ar_boot_pair pairs[AR_BOOT_PAIRS]; /* pair 0: firmware, pair 1: model */
    uint32_t pair_count;
    const ar_flash *state; /* of ar_boot */
    void *context;
    /* Sends a byte. Returns 0 if the port is not ready, or if a line of text has begun and is not at its end. */
    int (*put)(void *context, uint8_t byte);
    /* Takes a byte that belongs to no frame. May be 0. */
    void (*text)(void *context, uint8_t byte);
} ar_update_board;

/* All members belong to the library. */
typedef struct {
    ar_smp smp; /* first, for the alignment of its buffer */
    ar_coded coded;
    ar_smp_actions actions;
    ar_boot boot;
    const ar_update_board *board;
    const ar_flash *slot; /* that an action writes or reads */
    ar_sha256 hash;
    uint32_t at, end; /* pages or bytes at which an action works */
    uint32_t resumed; /* uploads that went on after a reset */
    uint32_t lost;    /* bytes for which there was no room */
    uint8_t job;      /* step of an action, 0 if none has begun */
    uint8_t is_saved; /* the last save of the state did not fail */
    uint8_t is_stale; /* the file in slot 1 is not the one that the slot names */
    uint8_t is_rejecting;
} ar_update;

#endif
