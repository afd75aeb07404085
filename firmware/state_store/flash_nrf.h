/* The flash memory of Nordic's nRF51 and nRF52 for the state store. */
#ifndef ARENITE_FLASH_NRF_H
#define ARENITE_FLASH_NRF_H

#include "flash.h"

/* Bytes of a page: 1,024 in the nRF51, 4,096 in the nRF52. */
enum { AR_NRF51_PAGE = 1024, AR_NRF52_PAGE = 4096 };

/* Fills `flash` with `pages` pages of `page_bytes` bytes from `address`, a multiple of `page_bytes`. They must lie
 * behind the program and everything else that is in flash.
 *
 * The processor halts while the controller works: about 22 ms for the erasure of a page of the nRF51, 85 ms for one of
 * the nRF52, and less than 0.1 ms for each word. With a SoftDevice, erase and program through its functions. */
void ar_flash_nrf(ar_flash *flash, uint32_t address, uint32_t page_bytes, uint32_t pages);

#endif
