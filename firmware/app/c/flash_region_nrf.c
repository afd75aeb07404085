/* The last pages of the flash memory of an nRF51 or nRF52 that belong to the application, for what it learned. There is
 * no memory if the program reaches them: symbols of the linker script tell where it ends. */
#include "app_learning.h"
#include "arenite/flash_nrf.h"
#include "learning.h"

extern uint8_t __etext[], __data_start__[], __data_end__[];

uint32_t learning_flash(ar_flash *flash)
{
    const uintptr_t end =
        (uintptr_t)__etext +
        (uintptr_t)(__data_end__ - __data_start__); /* of the program and its initial data */
    ar_flash_nrf(flash, APP_FLASH_ADDRESS, APP_FLASH_PAGE, APP_FLASH_PAGES);
    return end <= APP_FLASH_ADDRESS;
}
