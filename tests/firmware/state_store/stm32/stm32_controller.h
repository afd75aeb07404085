/* The state of the model of a flash controller, and what its parts call. */
#ifndef STM32_CONTROLLER_H
#define STM32_CONTROLLER_H

#include "app_learning.h"
#include "flash_stm32_core.h"
#include "stm32_model.h"
#include <setjmp.h>

#if defined(MODEL_L4)
enum { UNIT = 8, HAS_CHECK_BITS = 1, BUSY_READS = 5 };
#define STATUS FLASH->SR
#define CONTROL FLASH->CR
#define KEY FLASH->KEYR
#elif defined(MODEL_G0)
enum { UNIT = 8, HAS_CHECK_BITS = 1, BUSY_READS = 5 };
#define STATUS FLASH->SR
#define CONTROL FLASH->CR
#define KEY FLASH->KEYR
#define FLASH_SR_BSY FLASH_SR_BSY1
#elif defined(MODEL_F4)
enum { UNIT = 4, HAS_CHECK_BITS = 0, BUSY_READS = 5 };
#define STATUS FLASH->SR
#define CONTROL FLASH->CR
#define KEY FLASH->KEYR
#else
enum { UNIT = 32, HAS_CHECK_BITS = 1, BUSY_READS = 5 };
#if APP_FLASH_ADDRESS >= 0x08100000
#define STATUS FLASH->SR2
#define CONTROL FLASH->CR2
#define KEY FLASH->KEYR2
#define CLEAR FLASH->CCR2
enum { BANK = 0x08100000 };
#else
#define STATUS FLASH->SR1
#define CONTROL FLASH->CR1
#define KEY FLASH->KEYR1
#define CLEAR FLASH->CCR1
enum { BANK = 0x08000000 };
#endif
#define FLASH_CR_STRT FLASH_CR_START
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

/* stm32_memory.c: the flash memory and the registers at their real addresses, and what happens at an access. */
void open_memory(void);
void clear_memory(void);
uint8_t *memory(void);
void open_registers(void);
void close_registers(void);
void unlock_memory(void);
void close_memory(void);

/* stm32_controller.c: what the controller does. */
void controller_restart(void);
void show_status(void);
void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old);
void word_written(uintptr_t at, uint32_t old, uint32_t new);
void memory_read(uintptr_t at);

/* stm32_power_cuts.c: prints the text, and ends the process. */
__attribute__((noreturn)) void fail(const char *format, ...);

#endif
