#include "image.h"
#include "slots.h"

#include "update_layout.h"

int ar_slots_check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image)
{
    const ar_slots *slots = context;
    const int is_firmware = pair == AR_SLOTS_FIRMWARE;
    /* Code and model run from the slots 0, so the images of both slots must have been linked for them. */
    const ar_image_rules rules = {
        .public_key = slots->public_key,
        .board = slots->board,
        .address = is_firmware ? AR_UPDATE_FIRMWARE_0_AT : AR_UPDATE_MODEL_0_AT,
        .min_counter = minimum,
        .kind = is_firmware ? AR_IMAGE_FIRMWARE : AR_IMAGE_MODEL,
    };
    ar_image found;
    const int result = ar_image_check(&slots->slots[pair][slot], &rules, &found);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    if (found.header_bytes != (is_firmware ? AR_UPDATE_FIRMWARE_HEADER : AR_UPDATE_MODEL_HEADER)) {
        return AR_IMAGE_HEADER_SIZE;
    }
    image->bytes = found.bytes;
    image->counter = found.counter;
    for (uint32_t i = 0; i < AR_BOOT_ABI_BYTES; i++) {
        image->abi[i] = found.abi[i];
    }
    return 0;
}
