#include "device.h"

#include "device_parts.h"

int device_is_equal(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
    uint32_t i = 0;
    while (i < bytes && a[i] == b[i]) {
        i++;
    }
    return i == bytes;
}

int device_is_busy(const ar_flash *flash) { return flash->busy && flash->busy(flash->context); }

const ar_flash *device_slot(const ar_update *update, uint32_t pair, uint32_t slot)
{
    return update->board->pairs[pair].slots[ar_boot_slot(&update->boot, pair) ^ slot];
}

int device_begin_save(ar_update *update, int result)
{
    if (result) {
        update->job = 0;
        return AR_SMP_RC(AR_SMP_BAD_STATE);
    }
    return AR_SMP_AGAIN;
}

int device_end_save(ar_update *update)
{
    if (update->boot.saving) {
        return AR_SMP_AGAIN;
    }
    return update->is_saved ? AR_SMP_OK : AR_SMP_IMAGE_WRITE_FAILED;
}

static int put(void *context, uint8_t byte)
{
    const ar_update *update = context;
    return update->board->put(update->board->context, byte);
}

static void take_text(void *context, uint8_t byte)
{
    const ar_update *update = context;
    /* The bytes that begin a coded frame are 128 and more. */
    if (update->board->text && byte < 128) {
        update->board->text(update->board->context, byte);
    }
}

static int permit_reset(void *context, int is_forced)
{
    const ar_update *update = context;
    (void)is_forced;
    return update->boot.saving ? AR_SMP_AGAIN : AR_SMP_OK;
}

static const char *get_stat_group(void *context, uint32_t group)
{
    (void)context;
    return group == 0 ? "update" : 0;
}

static const char *get_stat(void *context, uint32_t group, uint32_t field, uint32_t *value)
{
    static const char names[5][9] = {"frames", "damaged", "repaired", "lost", "resumed"};
    const ar_update *update = context;
    const uint32_t values[5] = {update->smp.frames, update->smp.damaged, update->coded.repaired, update->lost,
                                update->resumed};
    (void)group;
    if (field > 4) {
        return 0;
    }
    *value = values[field];
    return names[field];
}

int ar_update_start(ar_update *update, const ar_update_board *board)
{
    static const ar_update start = {.actions = {.put = put,
                                                .text = take_text,
                                                .slot = device_get_slot,
                                                .upload_begin = device_begin,
                                                .upload_chunk = device_write,
                                                .upload_end = device_end,
                                                .test = device_test,
                                                .confirm = device_confirm,
                                                .erase = device_erase,
                                                .reset_request = permit_reset,
                                                .stat_group = get_stat_group,
                                                .stat = get_stat,
                                                .group = device_group},
                                    .boot = {.trials = 1}};
    *update = start;
    update->board = board;
    update->actions.context = update;
    update->boot.state = board->state;
    update->boot.pair_count = board->pair_count;
    for (uint32_t i = 0; i < board->pair_count && i < AR_BOOT_PAIRS; i++) {
        const uint32_t unit = board->pairs[i].slots[0]->unit_bytes;
        update->boot.pairs[i] = board->pairs[i];
        if (update->actions.unit_bytes < unit) {
            update->actions.unit_bytes = unit;
        }
    }
    ar_smp_start(&update->smp, &update->actions);
    ar_coded_start(&update->coded, &update->smp);
    return ar_boot_start(&update->boot) || update->actions.unit_bytes > AR_SMP_MAX_UNIT;
}

int ar_update_receive(ar_update *update, uint8_t byte)
{
    const int is_taken = ar_smp_receive(&update->smp, byte);
    update->lost += !is_taken;
    return is_taken;
}

int ar_update_step(ar_update *update)
{
    if (update->boot.saving) {
        const int result = ar_boot_step(&update->boot);
        update->is_saved = result == AR_STORE_SAVED;
        if (result != AR_STORE_BUSY && !update->is_saved) {
            ar_boot_start(&update->boot); /* it reads which state is in flash */
        }
        if (update->is_saved && update->is_rejecting) {
            return AR_SMP_RESET;
        }
    }
    const int result = ar_smp_step(&update->smp);
    return result == AR_SMP_IDLE && update->boot.saving ? AR_SMP_WAITING : result;
}

int ar_update_is_in_line(const ar_update *update) { return ar_smp_is_in_line(&update->smp); }

int ar_update_is_trial(const ar_update *update) { return ar_boot_phase(&update->boot) == AR_BOOT_TRIAL; }

int ar_update_confirm(ar_update *update) { return ar_boot_confirm(&update->boot); }

int ar_update_reject(ar_update *update, uint32_t reason)
{
    const int result = ar_boot_reject(&update->boot, reason);
    update->is_rejecting = (uint8_t)(result == 0);
    return result;
}
