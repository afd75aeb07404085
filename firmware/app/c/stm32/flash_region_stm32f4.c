/* Sectors of 128 KB at the end of the flash memory of an STM32F4 with up to 1 MB, for what the application learned. The
 * sectors at its beginning are smaller, but the program is there. Samples that arrive during an erasure are lost. Never
 * run on a board. */
#include "flash_region_stm32.h"

/* The compiler refuses an array of negative size. */
typedef char page_is_a_sector[APP_FLASH_PAGE == AR_STM32F4_SECTOR &&
                                      APP_FLASH_ADDRESS % AR_STM32F4_SECTOR == 0 &&
                                      APP_FLASH_ADDRESS > 0x08000000u &&
                                      APP_FLASH_ADDRESS + APP_FLASH_PAGES *AR_STM32F4_SECTOR <= 0x08100000u
                                  ? 1
                                  : -1];

uint32_t learning_flash(ar_flash *flash)
{
    ar_flash_stm32f4(flash, APP_FLASH_ADDRESS, AR_STM32F4_SECTOR, APP_FLASH_PAGES);
    return stm32_program_fits();
}
