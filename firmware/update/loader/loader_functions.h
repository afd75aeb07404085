/* The functions of the boot loader that firmware calls, so that it does not need them a second time: the state of updates,
 * the memories of the board, and SHA-256.
 *
 * The word at LOADER_TABLE_WORD of the loader's vector table is the address of the table. This word is reserved on every
 * Cortex-M. No update replaces the loader, so the table is as permanent as the format of an image: a field is never
 * removed or changed, and a new one is added at the end. The functions keep nothing in the loader's RAM. They run on the
 * caller's stack, and their variables are in the structures that the caller passes. So the structures belong to the table
 * too: ar_boot with ar_store, ar_slots with ar_flash, and ar_sha256, as a compiler for the Arm EABI lays them out. */
#ifndef ARENITE_LOADER_FUNCTIONS_H
#define ARENITE_LOADER_FUNCTIONS_H

#include "sha256.h"
#include "slots.h"

#define LOADER_FUNCTIONS_MAGIC 0x4C464E31u
enum { LOADER_FUNCTIONS_VERSION = 1, LOADER_TABLE_WORD = 8 };

typedef struct {
    uint32_t magic;
    uint16_t version; /* another one: the fields below have another meaning */
    uint16_t bytes;   /* of this table: a later loader may have more functions */
    uint16_t boot_bytes, slots_bytes, hash_bytes, reserved; /* sizes of the structures */
    void (*slots_start)(ar_slots *slots, ar_boot *boot);
    int (*boot_start)(ar_boot *boot);
    int (*boot_prepare)(ar_boot *boot);
    int (*boot_request)(ar_boot *boot, uint32_t pairs);
    int (*boot_confirm)(ar_boot *boot);
    int (*boot_reject)(ar_boot *boot, uint32_t reason);
    int (*boot_step)(ar_boot *boot);
    void (*hash_start)(ar_sha256 *hash);
    void (*hash_add)(ar_sha256 *hash, const void *data, uint32_t bytes);
    void (*hash_finish)(ar_sha256 *hash, uint8_t *digest);
} loader_functions;

/* In the loader. */
extern const loader_functions LOADER_FUNCTIONS;

/* In a firmware that calls them (loader_calls.c): returns 1 if the loader has this table. Call it first: without the table
 * no function of boot.h, slots.h and sha256.h may be called that is in it. */
int loader_has_functions(void);

#endif
