/* Sectors of 128 KB at the end of the second bank of the flash memory of an STM32H7 with 2 MB, for what the application
 * learned. The program is in the first bank, so it runs on during erasures. Never run on a board. */
#include "flash_region_stm32.h"

/* The compiler refuses an array of negative size. */
typedef char page_is_a_sector[APP_FLASH_PAGE == AR_STM32H7_SECTOR &&
                                      APP_FLASH_ADDRESS % AR_STM32H7_SECTOR == 0 &&
                                      APP_FLASH_ADDRESS >= 0x08100000u
                                  ? 1
                                  : -1];

uint32_t learning_flash(ar_flash *flash)
{
    ar_flash_stm32h7(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGES);
    return stm32_program_fits();
}
