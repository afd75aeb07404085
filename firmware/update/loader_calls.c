/* The functions of boot.h, slots.h and sha256.h that a firmware takes from the boot loader. */
#include "loader_functions.h"

#include "update_layout.h"

static const loader_functions *table(void)
{
    uintptr_t word = AR_UPDATE_LOADER_AT + 4u * LOADER_TABLE_WORD;
    /* The compiler must not know that the address is near 0, where it expects no object. */
    __asm__("" : "+r"(word));
    return *(const loader_functions *const *)word;
}

int loader_has_functions(void)
{
    const loader_functions *functions = table();
    const uint32_t offset = (uint32_t)(uintptr_t)functions - AR_UPDATE_LOADER_AT;
    /* A loader without the table has something else in this word. */
    return offset % 4 == 0 && offset != 0 && offset <= AR_UPDATE_LOADER_BYTES - sizeof *functions &&
           functions->magic == LOADER_FUNCTIONS_MAGIC && functions->version == LOADER_FUNCTIONS_VERSION &&
           functions->bytes >= sizeof *functions && functions->boot_bytes == sizeof(ar_boot) &&
           functions->slots_bytes == sizeof(ar_slots) && functions->hash_bytes == sizeof(ar_sha256);
}

void ar_slots_start(ar_slots *slots, ar_boot *boot) { table()->slots_start(slots, boot); }

int ar_boot_start(ar_boot *boot) { return table()->boot_start(boot); }

int ar_boot_prepare(ar_boot *boot) { return table()->boot_prepare(boot); }

int ar_boot_request(ar_boot *boot, uint32_t pairs) { return table()->boot_request(boot, pairs); }

int ar_boot_confirm(ar_boot *boot) { return table()->boot_confirm(boot); }

int ar_boot_reject(ar_boot *boot, uint32_t reason) { return table()->boot_reject(boot, reason); }

int ar_boot_step(ar_boot *boot) { return table()->boot_step(boot); }

void ar_sha256_start(ar_sha256 *hash) { table()->hash_start(hash); }

void ar_sha256_add(ar_sha256 *hash, const void *data, uint32_t bytes)
{
    table()->hash_add(hash, data, bytes);
}

void ar_sha256_finish(ar_sha256 *hash, uint8_t digest[AR_SHA256_BYTES])
{
    table()->hash_finish(hash, digest);
}
