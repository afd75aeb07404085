#include "smp_groups.h"

enum { GROUP_DATA = 0, LIST = 1 };

static int is_equal(const char *text, const ar_cbor_field *field)
{
    uint32_t i = 0;
    while (i < field->value && text[i] && (uint8_t)text[i] == field->data[i]) {
        i++;
    }
    return i == field->value && text[i] == 0;
}

static void list(const ar_smp_actions *actions, ar_cbor_writer *answer)
{
    const char *name;
    ar_cbor_text(answer, "stat_list");
    ar_cbor_open_array(answer);
    for (uint32_t group = 0; (name = actions->stat_group(actions->context, group)) != 0; group++) {
        ar_cbor_text(answer, name);
    }
    ar_cbor_close(answer);
}

static void write_group(const ar_smp_actions *actions, ar_cbor_writer *answer, uint32_t group,
                        const char *name)
{
    uint32_t value;
    ar_cbor_text(answer, "name");
    ar_cbor_text(answer, name);
    ar_cbor_text(answer, "fields");
    ar_cbor_open_map(answer);
    for (uint32_t field = 0; (name = actions->stat(actions->context, group, field, &value)) != 0; field++) {
        ar_cbor_put_uint(answer, name, value);
    }
    ar_cbor_close(answer);
}

int ar_smp_statistics_group(ar_smp *smp, ar_cbor_writer *answer)
{
    const ar_smp_actions *actions = smp->actions;
    if (smp->operation != SMP_READ || smp->command > LIST || !actions->stat_group || !actions->stat) {
        return AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
    ar_cbor_field wanted = {.name = "name", .type = AR_CBOR_TEXT};
    const int error = ar_smp_read_request(smp, &wanted, 1);
    if (error || (smp->command == GROUP_DATA && !wanted.is_present)) {
        return AR_SMP_RC(AR_SMP_INVALID);
    }
    if (smp->command == LIST) {
        ar_cbor_open_map(answer);
        list(actions, answer);
        return AR_SMP_OK;
    }
    const char *name;
    uint32_t group = 0;
    while ((name = actions->stat_group(actions->context, group)) != 0 && !is_equal(name, &wanted)) {
        group++;
    }
    if (!name) {
        return SMP_STATISTICS_NO_GROUP;
    }
    ar_cbor_open_map(answer);
    write_group(actions, answer, group, name);
    return AR_SMP_OK;
}
