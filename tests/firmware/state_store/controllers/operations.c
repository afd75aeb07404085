/* What an erasure and a write of a unit leave in the memory, also if power fails in them: an erasure leaves any content, a
 * unit that is programmed any of its bits, and its check bits may not fit. */
#include "controller.h"

model_state model;

uint32_t any(void)
{
    model.random_state = model.random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(model.random_state >> 33);
}

int power_fails_here(void) { return (int64_t)model.operations++ == model.cut_at; }

void erase_page(uint32_t page)
{
    const uint32_t first = page * APP_FLASH_PAGE;
    if (page >= APP_FLASH_PAGES) {
        fail("page %u is erased", page);
    }
    unlock_memory();
    model.erasures[page]++;
    const int is_cut = power_fails_here();
    const uint32_t kind = any() % 4;
    for (uint32_t k = 0; k < APP_FLASH_PAGE; k++) {
        uint8_t *byte = memory() + first + k;
        *byte = !is_cut || kind == 0                            ? 0xFF
                : kind == 1                                     ? (uint8_t)any()
                : kind == 2 && k < (uint32_t)APP_FLASH_PAGE / 2 ? 0xFF
                                                                : (uint8_t)(*byte | any());
    }
    for (uint32_t k = 0; k < APP_FLASH_PAGE / UNIT; k++) {
        model.is_programmed[first / UNIT + k] = (uint8_t)is_cut; /* it must be erased again */
        model.is_damaged[first / UNIT + k] = HAS_CHECK_BITS && is_cut && kind == 3 && k == 1;
    }
    close_memory();
    if (is_cut) {
        siglongjmp(model.power_is_off, 1);
    }
    model.is_stale = 1;
}

void program_unit(uint32_t unit, const uint8_t *data)
{
    if (unit >= BYTES / UNIT) {
        fail("unit %u is programmed", unit);
    }
    if (model.is_programmed[unit]) {
        fail("unit %u is programmed twice", unit);
    }
    const uintptr_t at = APP_FLASH_ADDRESS + unit * UNIT;
    model.is_programmed[unit] = 1;
    open_page(at);
    const int is_cut = power_fails_here();
    const uint32_t kind = any() % 3;
    for (uint32_t k = 0; k < UNIT; k++) {
        const uint8_t missing = kind == 0 ? 0 : kind == 1 ? 0xFF : (uint8_t)any();
        memory()[unit * UNIT + k] &= (uint8_t)(is_cut ? data[k] | missing : data[k]);
    }
    model.is_stale = 1;
    if (is_cut) {
        model.is_damaged[unit] = HAS_CHECK_BITS && kind == 2 && any() % 2;
        close_page(at);
        siglongjmp(model.power_is_off, 1);
    }
    close_page(at);
}
