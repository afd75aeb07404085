/* The registers of the flash controller of the nRF52, as Nordic's device headers place them. test_flash_nrf.py compares
 * the numbers with those of the headers. */
#ifndef NRF_MODEL_H
#define NRF_MODEL_H

#include <stdint.h>

typedef struct {
    volatile uint32_t before_1[256], READY, before_2[64], CONFIG, ERASEPAGE;
} NRF_NVMC_Type;
#define NVMC_READY_READY_Msk 0x1UL
#define NVMC_CONFIG_WEN_Ren 0UL
#define NVMC_CONFIG_WEN_Wen 1UL
#define NVMC_CONFIG_WEN_Een 2UL
#define NRF_NVMC_BASE 0x4001E000UL

#define NVMC ((NRF_NVMC_Type *)NRF_NVMC_BASE)
enum { UNIT = 4, HAS_CHECK_BITS = 0, HAS_CACHE = 0 };
#define REGISTER_PAGES {NRF_NVMC_BASE}

#endif
