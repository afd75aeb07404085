/* What the drivers of the flash memories of STM32 share. */
#ifndef ARENITE_FLASH_REGION_STM32_H
#define ARENITE_FLASH_REGION_STM32_H

#include "flash_region.h"

/* The keys that unlock the control register. */
enum { STM32_FLASH_KEY_1 = 0x45670123, STM32_FLASH_FIRST = 0x08000000 };
#define STM32_FLASH_KEY_2 0xCDEF89ABu

/* Symbols of the linker script: where the initial data are in flash, and where they are copied to. */
extern uint8_t _sidata[], _sdata[], _edata[];

/* Returns 1 if the program and its initial data end before the region. */
static inline uint32_t stm32_program_fits(void)
{
    return (uintptr_t)_sidata + (uintptr_t)(_edata - _sdata) <= APP_FLASH_ADDRESS;
}

/* Returns the word at offset `at` of the region. */
static inline volatile uint32_t *stm32_word(uint32_t at)
{
    return (volatile uint32_t *)(uintptr_t)(APP_FLASH_ADDRESS + at);
}

/* Writes the word of four bytes at `from`. */
static inline void stm32_write(volatile uint32_t *word, const uint8_t *from)
{
    *word = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

#endif
