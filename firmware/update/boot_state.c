/* Reads the state of updates. A boot loader and a firmware that calls its functions both need this file. */
#include "boot_record.h"

uint32_t ar_boot_phase(const ar_boot *boot) { return field_read(boot, FIELD_PHASE, 1); }

uint32_t ar_boot_slot(const ar_boot *boot, uint32_t pair)
{
    return field_read(boot, FIELD_ACTIVE, 1) >> pair & 1u;
}

uint32_t ar_boot_outcome(const ar_boot *boot) { return field_read(boot, FIELD_OUTCOME, 1); }

uint32_t ar_boot_reason(const ar_boot *boot) { return field_read(boot, FIELD_REASON, 1); }

uint32_t ar_boot_counter(const ar_boot *boot, uint32_t pair)
{
    return field_read(boot, FIELD_MINIMUM + 4 * pair, 4);
}
