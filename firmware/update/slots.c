#include "slots.h"

#include "update_layout.h"

static void area(ar_flash *flash, uint32_t address, uint32_t pages) { AR_UPDATE_FLASH; }

void ar_slots_start(ar_slots *slots, ar_boot *boot)
{
    area(&slots->state, AR_UPDATE_STATE_AT, AR_UPDATE_STATE_PAGES);
    area(&slots->scratch, AR_UPDATE_SCRATCH_AT, AR_UPDATE_SCRATCH_PAGES);
    area(&slots->slots[AR_SLOTS_FIRMWARE][0], AR_UPDATE_FIRMWARE_0_AT, AR_UPDATE_FIRMWARE_PAGES);
    area(&slots->slots[AR_SLOTS_FIRMWARE][1], AR_UPDATE_FIRMWARE_1_AT, AR_UPDATE_FIRMWARE_PAGES);
    area(&slots->slots[AR_SLOTS_MODEL][0], AR_UPDATE_MODEL_0_AT, AR_UPDATE_MODEL_PAGES);
    area(&slots->slots[AR_SLOTS_MODEL][1], AR_UPDATE_MODEL_1_AT, AR_UPDATE_MODEL_PAGES);
    for (uint32_t pair = 0; pair < AR_SLOTS_PAIRS; pair++) {
        boot->pairs[pair].slots[0] = &slots->slots[pair][0];
        boot->pairs[pair].slots[1] = &slots->slots[pair][1];
        boot->pairs[pair].scratch = &slots->scratch;
    }
    boot->pair_count = AR_SLOTS_PAIRS;
    boot->state = &slots->state;
    boot->trials = AR_SLOTS_TRIALS;
    boot->check = 0;
    boot->context = slots;
}
