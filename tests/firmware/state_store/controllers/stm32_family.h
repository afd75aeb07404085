/* The four families of STM32 in the model of a flash controller. */
#ifndef STM32_FAMILY_H
#define STM32_FAMILY_H

#include "flash_stm32_core.h"
#include "stm32_model.h"

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

#if defined(MODEL_L4) || defined(MODEL_F4)
#define HAS_CACHE 1
#else
#define HAS_CACHE 0
#endif
#define REGISTER_PAGES {FLASH_R_BASE & ~0xFFFUL}

#endif
