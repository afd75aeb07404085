/* The interface between the state store and a flash memory. One driver per family fills it (see flash_nrf.c). */
#ifndef ARENITE_FLASH_H
#define ARENITE_FLASH_H

#include <stdint.h>

/* The part of a flash memory that belongs to the store: `pages` pages, one after the other. Addresses are offsets from
 * the first page. Each function returns 0, or another number if it failed.
 *
 * The store erases only whole pages. It programs only whole, aligned units, and each unit at most once between two
 * erasures, also across power cuts. It therefore runs on memories whose units have check bits. */
typedef struct {
    uint32_t page_bytes; /* bytes that are erased together, a multiple of unit_bytes */
    uint32_t pages;
    uint32_t
        unit_bytes; /* bytes that are programmed together: 1, or a power of two up to AR_STORE_MAX_UNIT */
    /* Erases page `page` to 0xFF, or only begins to. */
    int (*erase)(void *context, uint32_t page);
    /* Programs `bytes` bytes from `at`, or only begins to: it must have copied `data` before it returns. */
    int (*program)(void *context, uint32_t at, const void *data, uint32_t bytes);
    /* Reads `bytes` bytes from `at`. It fails if the memory finds damaged check bits. */
    int (*read)(void *context, uint32_t at, void *data, uint32_t bytes);
    /* Returns 1 while an operation that was begun runs. 0 instead of a function: the operations above finish before
     * they return. */
    int (*busy)(void *context);
    void *context;
} ar_flash;

#endif
