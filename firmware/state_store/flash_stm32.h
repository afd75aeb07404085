/* The flash memories of four families of STM32 for the state store and for updates. The drivers access the registers of
 * the controllers at their addresses, so they need no header of the vendor.
 *
 * `address` is a multiple of the bytes of a page. The pages must hold nothing else. No driver has run on hardware. */
#ifndef ARENITE_FLASH_STM32_H
#define ARENITE_FLASH_STM32_H

#include "flash.h"

/* Bytes of a page. The first four sectors of an STM32F4 are smaller than those from 128 KB on; the one between has 64 KB. */
enum {
    AR_STM32L4_PAGE = 2048,
    AR_STM32G0_PAGE = 2048,
    AR_STM32F4_SMALL_SECTOR = 16384,
    AR_STM32F4_SECTOR = 131072,
    AR_STM32H7_SECTOR = 131072
};

/* STM32L4 with pages of 2 KB: those with one bank, and those with 1 MB in two banks (RM0351 and RM0394). Double words of
 * 8 bytes have check bits and are programmed once after an erasure. The processor halts for about 22 ms during an erasure
 * if it reads the bank that is erased.
 *
 * A double word that a power cut damaged asks for NMI when it is read. The program's handler of NMI must call
 * ar_flash_stm32l4_nmi. It returns 1 if that was the cause. */
void ar_flash_stm32l4(ar_flash *flash, uint32_t address, uint32_t pages);
int ar_flash_stm32l4_nmi(void);

/* STM32G0 with one bank of up to 128 KB, and STM32G0B1 and G0C1 with 512 KB in two banks that are not swapped (RM0444).
 * Double words and NMI are as in the STM32L4. */
void ar_flash_stm32g0(ar_flash *flash, uint32_t address, uint32_t pages);
int ar_flash_stm32g0_nmi(void);

/* STM32F4 with up to 1 MB (RM0090, RM0368, RM0383, RM0390). `page_bytes` is AR_STM32F4_SMALL_SECTOR or AR_STM32F4_SECTOR,
 * and all pages have this size: the small ones are below 64 KB, the others from 128 KB on. A write has 4 bytes, which
 * needs a supply of 2.7 V or more. The processor halts during an erasure: about 1 second for 128 KB, at most 2. */
void ar_flash_stm32f4(ar_flash *flash, uint32_t address, uint32_t page_bytes, uint32_t pages);

/* STM32H742, H743, H745, H747, H753, H755 and H757 with 2 MB (RM0433 and RM0399). All pages are in one bank. Words of 32
 * bytes have check bits and are programmed once after an erasure. The processor halts during an erasure if it reads the
 * bank that is erased, for up to 4 seconds. It ignores the bus fault of a damaged word, while no interrupt can run: less
 * than 1 us. */
void ar_flash_stm32h7(ar_flash *flash, uint32_t address, uint32_t pages);

#endif
