/* Chooses the images that a device runs, installs new ones, and returns to the old ones if a new one does not prove
 * itself. Nothing is lost when power fails, whatever operation on the flash memory it interrupts.
 *
 * A device has one pair of slots for each kind of image: the firmware, and maybe the model. There are two kinds of
 * pairs. If firmware can run from both slots, or if it is data that code reads through a pointer, an installation only
 * changes which slot is used. Otherwise only slot 0 is used, and an installation swaps the contents of the slots by
 * means of a third area, the scratch.
 *
 * The life of a new image, with the phase in parentheses:
 *
 *   1. The application writes it to the unused slot (AR_BOOT_STEADY), and calls ar_boot_request (AR_BOOT_REQUESTED).
 *   2. After the next start, the boot loader checks it, and refuses it or installs it (AR_BOOT_INSTALL).
 *   3. The new image runs on trial (AR_BOOT_TRIAL). It tests itself, and calls ar_boot_confirm (AR_BOOT_STEADY).
 *   4. If it calls ar_boot_reject, or has not called ar_boot_confirm after `trials` starts, the boot loader puts the old
 *      images back (AR_BOOT_RETURN, then AR_BOOT_STEADY).
 *
 * The state is one record in flash, kept by ar_store. Firmware and model can change in one step, so that code and
 * weights of different graphs never meet.
 *
 * Bits whose programming was interrupted may read differently at each start. So nothing is erased on the word of a
 * record that an earlier start wrote: the record is first written again. */
#ifndef ARENITE_BOOT_H
#define ARENITE_BOOT_H

#include "state_store.h"

enum {
    AR_BOOT_PAIRS = 2,      /* at most */
    AR_BOOT_ABI_BYTES = 32, /* of the hash that binds code and model together */
    AR_BOOT_RECORD_BYTES = 32
};

/* The phases. */
enum { AR_BOOT_STEADY, AR_BOOT_REQUESTED, AR_BOOT_INSTALL, AR_BOOT_TRIAL, AR_BOOT_RETURN };

/* What happened to the last update. */
enum {
    AR_BOOT_NO_UPDATE,
    AR_BOOT_CONFIRMED, /* the new images are in use */
    AR_BOOT_REFUSED,   /* they were not installed: see ar_boot_reason */
    AR_BOOT_RETURNED,  /* they did not confirm themselves in time, or rejected themselves */
    AR_BOOT_REPAIRED,  /* an image in use was damaged, and the other slot's image took its place */
    AR_BOOT_KEPT       /* they did not confirm themselves, but the old images are damaged */
};

/* The reason for a refusal, if the check gave none. Checks return other numbers. */
enum { AR_BOOT_ABI_DIFFERS = 255 };

/* What ar_boot_choose decided. */
enum {
    AR_BOOT_FAILED = -1,  /* the flash memory does not work: start again, or wait for help */
    AR_BOOT_NOTHING = 0,  /* there is no image that may run */
    AR_BOOT_RUN = 1,      /* run the images in use */
    AR_BOOT_RUN_TRIAL = 2 /* the same, but they are on trial: start the watchdog first */
};

/* What a check found out about an image. */
typedef struct {
    uint32_t bytes;   /* from the start of the slot to the end of the image and its signature */
    uint32_t counter; /* of the security counter */
    uint8_t abi[AR_BOOT_ABI_BYTES];
} ar_boot_image;

typedef struct {
    /* Both slots and the scratch have pages and units of the same size. Both slots have the same number of pages. */
    const ar_flash *slots[2];
    const ar_flash *scratch; /* 0: the slots are not swapped */
} ar_boot_pair;

typedef struct ar_boot ar_boot;
struct ar_boot {
    /* Set these, then call ar_boot_start. Pair 0 is the firmware. */
    ar_boot_pair pairs[AR_BOOT_PAIRS];
    uint32_t pair_count;
    const ar_flash *state; /* for the state store */
    uint32_t trials;       /* starts on trial, 1 to 255 */
    /* Checks the image in a slot. Returns 0 if it may run: whole, signed, made for this board, and with a security
     * counter of `minimum` or more. Otherwise a number from 1 to 254. The application may leave it 0. */
    int (*check)(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image);
    void *context;
    /* These belong to the functions. */
    ar_store store;
    uint8_t record[AR_BOOT_RECORD_BYTES];
    uint8_t written; /* 1 if this start has written the record */
    uint8_t saving;  /* 1 while a function for the application saves */
};

/* Reads the state. Returns 0, or 1 if the memories do not suit. A memory without a state is that of a new device: the
 * images in the slots 0 are in use. */
int ar_boot_start(ar_boot *boot);

/* For the boot loader: finishes what was begun, and decides what runs. It waits for the flash memory. */
int ar_boot_choose(ar_boot *boot);

uint32_t ar_boot_phase(const ar_boot *boot);
/* The slot of the pair that is in use. */
uint32_t ar_boot_slot(const ar_boot *boot, uint32_t pair);
uint32_t ar_boot_outcome(const ar_boot *boot);
/* Why images were refused or rejected: the number of the check, AR_BOOT_ABI_DIFFERS, or that of ar_boot_reject. */
uint32_t ar_boot_reason(const ar_boot *boot);
/* The least security counter that an image of the pair must have. */
uint32_t ar_boot_counter(const ar_boot *boot, uint32_t pair);

/* For the application. Each of these begins to save the state and returns 0, or returns 1 if the phase does not permit
 * it or another save runs. Then call ar_boot_step until it does not return AR_STORE_BUSY. The state has changed once it
 * returns AR_STORE_SAVED. After AR_STORE_FAILED, call ar_boot_start to learn which state is in flash. */

/* Call it before the first erasure of an unused slot. It withdraws a request. Not on trial: the unused slots then have
 * the old images. */
int ar_boot_prepare(ar_boot *boot);
/* Asks for the installation of the images in the unused slots of `pairs`, one bit for each pair. */
int ar_boot_request(ar_boot *boot, uint32_t pairs);
/* The images on trial have proved themselves. Images with a smaller security counter cannot return from now on. */
int ar_boot_confirm(ar_boot *boot);
/* The images on trial have failed, for a reason of 1 to 255: the next start returns to the old ones. */
int ar_boot_reject(ar_boot *boot, uint32_t reason);
int ar_boot_step(ar_boot *boot);

#endif
