/* What the flash memories of applications on STM32 share. Their pages are behind the program. */
#ifndef ARENITE_FLASH_REGION_STM32_H
#define ARENITE_FLASH_REGION_STM32_H

#include "app_learning.h"
#include "arenite/flash_stm32.h"
#include "learning.h"

/* Symbols of the linker script: where the initial data are in flash, and where they are copied to. */
extern uint8_t _sidata[], _sdata[], _edata[];

/* Returns 1 if the program and its initial data end before the region. */
static inline uint32_t stm32_program_fits(void)
{
    return (uintptr_t)_sidata + (uintptr_t)(_edata - _sdata) <= APP_FLASH_ADDRESS;
}

#endif
