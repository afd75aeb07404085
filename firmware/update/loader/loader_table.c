#include "loader_functions.h"

const loader_functions LOADER_FUNCTIONS = {
    .magic = LOADER_FUNCTIONS_MAGIC,
    .version = LOADER_FUNCTIONS_VERSION,
    .bytes = sizeof(loader_functions),
    .boot_bytes = sizeof(ar_boot),
    .slots_bytes = sizeof(ar_slots),
    .hash_bytes = sizeof(ar_sha256),
    .slots_start = ar_slots_start,
    .boot_start = ar_boot_start,
    .boot_prepare = ar_boot_prepare,
    .boot_request = ar_boot_request,
    .boot_confirm = ar_boot_confirm,
    .boot_reject = ar_boot_reject,
    .boot_step = ar_boot_step,
    .hash_start = ar_sha256_start,
    .hash_add = ar_sha256_add,
    .hash_finish = ar_sha256_finish,
};
