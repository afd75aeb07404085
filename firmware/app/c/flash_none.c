/* No flash memory for the state of an application that learns: it begins anew after each start. A function of the same name
 * in src/ takes the place of this one. */
#include "console.h"
#include "learning.h"

__attribute__((weak)) uint32_t learning_flash(ar_flash *flash)
{
    (void)flash;
    console_note("There is no driver of the flash memory, so the state is not kept.");
    return 0;
}
