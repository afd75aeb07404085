/* The last pages of the flash memory of an nRF51 or nRF52, for the state of an application that learns. */
#include "app_learning.h"
#include "arenite/flash_nrf.h"
#include "learning.h"

uint32_t learning_flash(ar_flash *flash)
{
    ar_flash_nrf(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGE, APP_FLASH_PAGES);
    return 1;
}
