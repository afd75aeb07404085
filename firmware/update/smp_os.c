#include "smp_groups.h"

enum { ECHO = 0, RESET = 5, PARAMETERS = 6 };

static int echo(ar_smp *smp, ar_cbor_writer *answer)
{
    ar_cbor_field text = {.name = "d", .type = AR_CBOR_TEXT};
    const int error = ar_smp_read_request(smp, &text, 1);
    if (error || !text.is_present) {
        return AR_SMP_RC(AR_SMP_INVALID);
    }
    /* The answer is written over the request. The text moves to a lower address, or stays. */
    ar_cbor_open_map(answer);
    ar_cbor_put_string(answer, "r", AR_CBOR_TEXT, text.data, text.value);
    return AR_SMP_OK;
}

static int reset(ar_smp *smp, ar_cbor_writer *answer)
{
    ar_cbor_field force = {.name = "force", .type = AR_CBOR_UINT};
    int error = ar_smp_read_request(smp, &force, 1);
    if (error == AR_SMP_OK && smp->actions->reset_request) {
        error = smp->actions->reset_request(smp->actions->context, force.value != 0);
    } else if (error == AR_SMP_OK) {
        error = AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
    if (error) {
        return error;
    }
    smp->is_resetting = 1;
    ar_cbor_open_map(answer);
    return AR_SMP_OK;
}

int ar_smp_os_group(ar_smp *smp, ar_cbor_writer *answer)
{
    if (smp->command == ECHO) {
        return echo(smp, answer);
    }
    if (smp->command == RESET && smp->operation == SMP_WRITE) {
        return reset(smp, answer);
    }
    if (smp->command == PARAMETERS && smp->operation == SMP_READ) {
        ar_cbor_open_map(answer);
        /* Clients subtract the length and the CRC of a frame, which need no place in our buffer. */
        ar_cbor_put_uint(answer, "buf_size", AR_SMP_MAX_MESSAGE + 4);
        ar_cbor_put_uint(answer, "buf_count", 1);
        return AR_SMP_OK;
    }
    return AR_SMP_RC(AR_SMP_UNSUPPORTED);
}
