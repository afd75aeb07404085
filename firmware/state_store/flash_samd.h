/* The flash memories of Microchip's SAMD21 and SAMD51 for the state store and for updates. The drivers access the
 * registers of the controllers at their addresses, so they need no header of the vendor.
 *
 * `address` is a multiple of the bytes of a page. The pages must hold nothing else. No driver has run on hardware. */
#ifndef ARENITE_FLASH_SAMD_H
#define ARENITE_FLASH_SAMD_H

#include "flash.h"

/* Bytes that are erased together: a row of the SAMD21, a block of the SAMD51. */
enum { AR_SAMD21_ROW = 256, AR_SAMD51_BLOCK = 8192 };

/* SAMD21: rows of 256 bytes. A row may be written 8 times after an erasure (data sheet, flash characteristics), so a unit
 * is an eighth of it, 32 bytes. The processor halts while it reads the flash memory during an operation: at most 6 ms
 * for a row and 2.5 ms for a unit. */
void ar_flash_samd21(ar_flash *flash, uint32_t address, uint32_t pages);

/* SAMD51, and SAME51, E53 and E54, whose controller is the same: blocks of 8 KB. Quad words of 16 bytes have check bits
 * and are programmed once after an erasure. A quad word that a power cut damaged causes no fault; the driver reads the
 * controller's flag. An interrupt that reads another damaged quad word meanwhile lets a read fail. The processor halts
 * while it reads the bank that is erased. */
void ar_flash_samd51(ar_flash *flash, uint32_t address, uint32_t pages);

#endif
