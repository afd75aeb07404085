/* Pages at the end of the flash memory of an STM32L4 with pages of 2 KB, for what the application learned. Where the
 * chip has two banks, such as those with 1 MB, the program runs on while the second one is erased. Never run on a board. */
#include "flash_region_stm32.h"

/* The compiler refuses an array of negative size. */
typedef char
    page_is_a_page[APP_FLASH_PAGE == AR_STM32L4_PAGE && APP_FLASH_ADDRESS % AR_STM32L4_PAGE == 0 ? 1 : -1];

void NMI_Handler(void);

/* It halts at other causes than a damaged double word, as the handlers of the frameworks do. */
void NMI_Handler(void)
{
    while (!ar_flash_stm32l4_nmi()) {
    }
}

uint32_t learning_flash(ar_flash *flash)
{
    ar_flash_stm32l4(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGES);
    return stm32_program_fits();
}
