/* The registers of the flash controllers of four families, as ST's device headers name them. test_flash_stm32.py compares
 * the numbers with those of ST's headers. */
#ifndef STM32_MODEL_H
#define STM32_MODEL_H

#include <stdint.h>

#if defined(MODEL_L4)
typedef struct {
    volatile uint32_t ACR, PDKEYR, KEYR, OPTKEYR, SR, CR, ECCR;
} FLASH_TypeDef;
#define FLASH_R_BASE 0x40022000UL
#define FLASH_CR_PG (1UL << 0)
#define FLASH_CR_PER (1UL << 1)
#define FLASH_CR_PNB_Pos 3U
#define FLASH_CR_BKER (1UL << 11)
#define FLASH_CR_STRT (1UL << 16)
#define FLASH_CR_LOCK (1UL << 31)
#define FLASH_SR_OPERR (1UL << 1)
#define FLASH_SR_PROGERR (1UL << 3)
#define FLASH_SR_WRPERR (1UL << 4)
#define FLASH_SR_PGAERR (1UL << 5)
#define FLASH_SR_SIZERR (1UL << 6)
#define FLASH_SR_PGSERR (1UL << 7)
#define FLASH_SR_MISERR (1UL << 8)
#define FLASH_SR_FASTERR (1UL << 9)
#define FLASH_SR_BSY (1UL << 16)
#define FLASH_ECCR_ECCD (1UL << 31)
#define FLASH_ACR_DCEN (1UL << 10)
#define FLASH_ACR_DCRST (1UL << 12)
#elif defined(MODEL_G0)
typedef struct {
    volatile uint32_t ACR, reserved, KEYR, OPTKEYR, SR, CR, ECCR, ECC2R;
} FLASH_TypeDef;
#define FLASH_R_BASE 0x40022000UL
#define FLASH_CR_PG (1UL << 0)
#define FLASH_CR_PER (1UL << 1)
#define FLASH_CR_PNB_Pos 3U
#define FLASH_CR_BKER (1UL << 13)
#define FLASH_CR_STRT (1UL << 16)
#define FLASH_CR_LOCK (1UL << 31)
#define FLASH_SR_OPERR (1UL << 1)
#define FLASH_SR_PROGERR (1UL << 3)
#define FLASH_SR_WRPERR (1UL << 4)
#define FLASH_SR_PGAERR (1UL << 5)
#define FLASH_SR_SIZERR (1UL << 6)
#define FLASH_SR_PGSERR (1UL << 7)
#define FLASH_SR_MISERR (1UL << 8)
#define FLASH_SR_FASTERR (1UL << 9)
#define FLASH_SR_BSY1 (1UL << 16)
#define FLASH_SR_BSY2 (1UL << 17)
#define FLASH_SR_CFGBSY (1UL << 18)
#define FLASH_ECCR_ECCD (1UL << 31)
#elif defined(MODEL_F4)
typedef struct {
    volatile uint32_t ACR, KEYR, OPTKEYR, SR, CR;
} FLASH_TypeDef;
#define FLASH_R_BASE 0x40023C00UL
#define FLASH_CR_PG (1UL << 0)
#define FLASH_CR_SER (1UL << 1)
#define FLASH_CR_SNB_Pos 3U
#define FLASH_CR_PSIZE_1 (2UL << 8)
#define FLASH_CR_STRT (1UL << 16)
#define FLASH_CR_LOCK (1UL << 31)
#define FLASH_SR_SOP (1UL << 1)
#define FLASH_SR_WRPERR (1UL << 4)
#define FLASH_SR_PGAERR (1UL << 5)
#define FLASH_SR_PGPERR (1UL << 6)
#define FLASH_SR_PGSERR (1UL << 7)
#define FLASH_SR_BSY (1UL << 16)
#define FLASH_ACR_DCEN (1UL << 10)
#define FLASH_ACR_DCRST (1UL << 12)
#else
typedef struct {
    volatile uint32_t ACR, KEYR1, reserved_1, CR1, SR1, CCR1, rest[59], KEYR2, reserved_2, CR2, SR2, CCR2;
} FLASH_TypeDef;
#define FLASH_R_BASE 0x52002000UL
#define FLASH_CR_LOCK (1UL << 0)
#define FLASH_CR_PG (1UL << 1)
#define FLASH_CR_SER (1UL << 2)
#define FLASH_CR_PSIZE_0 (1UL << 4)
#define FLASH_CR_PSIZE_1 (2UL << 4)
#define FLASH_CR_START (1UL << 7)
#define FLASH_CR_SNB_Pos 8U
#define FLASH_SR_BSY (1UL << 0)
#define FLASH_SR_WBNE (1UL << 1)
#define FLASH_SR_QW (1UL << 2)
#define FLASH_SR_WRPERR (1UL << 17)
#define FLASH_SR_PGSERR (1UL << 18)
#define FLASH_SR_STRBERR (1UL << 19)
#define FLASH_SR_INCERR (1UL << 21)
#define FLASH_SR_OPERR (1UL << 22)
#define FLASH_SR_DBECCERR (1UL << 26)
#define FLASH_CCR_CLR_SNECCERR (1UL << 25)
#define FLASH_CCR_CLR_DBECCERR (1UL << 26)
#endif

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#endif
