/* The state of the model of a flash controller, and what its parts call. */
#ifndef CONTROLLER_H
#define CONTROLLER_H

#include "app_learning.h"
#include <setjmp.h>
#include <stdint.h>

#if defined(MODEL_NRF52)
#include "nrf_model.h"
#elif defined(MODEL_SAMD21) || defined(MODEL_SAMD51)
#include "samd_model.h"
#elif defined(MODEL_RP2040)
#include "rp2040_model.h"
#else
#include "stm32_family.h"
#endif

enum { BYTES = APP_FLASH_PAGE * APP_FLASH_PAGES, HOST_PAGE = 4096 };

typedef struct {
    uint8_t is_programmed[BYTES / UNIT], is_damaged[BYTES / UNIT];
    uint32_t erasures[APP_FLASH_PAGES];
    uint32_t operations; /* erasures and writes of words, counted */
    int64_t cut_at;      /* the operation in which power fails */
    sigjmp_buf power_is_off;
    uint32_t is_stale; /* the cache of the processor may have old data */
    uint32_t nmi_is_pending;
    uint64_t random_state;
} model_state;

extern model_state model;

/* memory.c: the flash memory and the registers at their real addresses, and what happens at an access. */
void open_memory(void);
void clear_memory(void);
uint8_t *memory(void);
void open_registers(void);
void close_registers(void);
/* close_page lets the next access to the page of an address raise a signal, if it is a write or the page has a damaged
 * unit. */
void open_page(uintptr_t at);
void close_page(uintptr_t at);
void unlock_memory(void);
void hide_memory(void); /* lets every access raise a signal */
void close_memory(void);

/* The file of a family: what its controller does. Each family says the bytes of a UNIT, whether units have check bits,
 * whether a cache may have old data, and the pages of its registers. */
void controller_restart(void);
void show_register(uintptr_t at); /* before a register is read */
void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old);
void word_written(uintptr_t at, uint32_t old, uint32_t new);
void memory_read(uintptr_t at); /* of a page that may not be read, or has a damaged unit */

/* What the families share: a random number, the count of an operation with whether power fails in it, and the contents of
 * a page or a unit that is erased or programmed, maybe with a cut in it. A cut does not return. */
uint32_t any(void);
int power_fails_here(void);
void erase_page(uint32_t page);
void program_unit(uint32_t unit, const uint8_t *data);

/* cuts.c: prints the text, and ends the process. */
__attribute__((noreturn)) void fail(const char *format, ...);

#endif
