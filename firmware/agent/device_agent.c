#include "device_agent.h"

#include "smp_groups.h"

void ar_agent_start(ar_agent *agent, uint32_t cause, uint32_t boot, uint32_t ticks)
{
    ar_observations_clear(&agent->observations);
    agent->window = 1;
    agent->cause = cause;
    agent->boot = boot;
    agent->uptime_s = agent->rest = 0;
    agent->ticks = ticks;
}

void ar_agent_tick(ar_agent *agent, uint32_t ticks, uint32_t ticks_per_s)
{
    uint32_t passed = ticks - agent->ticks;
    agent->ticks = ticks;
    for (; passed >= ticks_per_s; passed -= ticks_per_s) {
        agent->uptime_s++;
    }
    agent->rest += passed;
    if (agent->rest >= ticks_per_s) {
        agent->rest -= ticks_per_s;
        agent->uptime_s++;
    }
}

static void write_state(const ar_agent *agent, ar_cbor_writer *answer)
{
    ar_cbor_open_map(answer);
    ar_cbor_put_uint(answer, "up", agent->uptime_s);
    ar_cbor_put_uint(answer, "cause", agent->cause);
    ar_cbor_put_uint(answer, "boot", agent->boot);
    ar_cbor_put_uint(answer, "seq", agent->window);
    ar_cbor_put_uint(answer, "n", agent->observations.inferences);
}

static int write_histogram(const ar_agent *agent, const ar_smp *smp, ar_cbor_writer *answer)
{
    /* The name "counts", the head of the string, and the end of the map. */
    enum { OVERHEAD = 7 + 3 + 1 };
    ar_cbor_field fields[2] = {{.name = "id", .type = AR_CBOR_UINT}, {.name = "off", .type = AR_CBOR_UINT}};
    const uint16_t *counts = 0;
    if (ar_smp_read_request(smp, fields, 2) || !fields[0].is_present) {
        return AR_SMP_RC(AR_SMP_INVALID);
    }
    const uint32_t number = fields[0].value, first = fields[1].value;
    const uint32_t buckets = ar_histogram(&agent->observations, number, &counts);
    if (buckets == 0) {
        return AR_SMP_RC(AR_SMP_NOT_FOUND);
    }
    if (first > buckets) {
        return AR_SMP_RC(AR_SMP_INVALID);
    }
    ar_cbor_open_map(answer);
    ar_cbor_put_uint(answer, "seq", agent->window);
    ar_cbor_put_uint(answer, "id", number);
    ar_cbor_put_uint(answer, "off", first);
    ar_cbor_put_uint(answer, "n", buckets);
    const uint32_t room = (uint32_t)(answer->end - answer->at);
    uint32_t bytes = 2 * (buckets - first);
    if (room < OVERHEAD + 2u) {
        return AR_SMP_RC(AR_SMP_TOO_LONG);
    }
    if (bytes > room - OVERHEAD) {
        bytes = (room - OVERHEAD) & ~1u;
    }
    /* The bytes are written to the end of the buffer first. The string may overlap the place at which it is written. */
    uint8_t *data = answer->end - bytes;
    for (uint32_t i = 0; i < bytes; i += 2) {
        const uint32_t value = counts[first + i / 2];
        data[i] = (uint8_t)(value & 0xFFu);
        data[i + 1] = (uint8_t)(value >> 8);
    }
    ar_cbor_put_string(answer, "counts", AR_CBOR_BYTES, data, bytes);
    return AR_SMP_OK;
}

static int close_window(ar_agent *agent, const ar_smp *smp, ar_cbor_writer *answer)
{
    ar_cbor_field fields[2] = {{.name = "seq", .type = AR_CBOR_UINT}, {.name = "n", .type = AR_CBOR_UINT}};
    if (ar_smp_read_request(smp, fields, 2) || !fields[0].is_present) {
        return AR_SMP_RC(AR_SMP_INVALID);
    }
    if (fields[0].value + 1 != agent->window) {
        if (fields[0].value != agent->window ||
            (fields[1].is_present && fields[1].value != agent->observations.inferences)) {
            return AR_SMP_RC(AR_SMP_BAD_STATE);
        }
        ar_observations_clear(&agent->observations);
        agent->window++;
    }
    ar_cbor_open_map(answer);
    ar_cbor_put_uint(answer, "seq", agent->window);
    return AR_SMP_OK;
}

int ar_agent_answer(ar_agent *agent, const ar_smp *smp, ar_cbor_writer *answer)
{
    if (smp->command == AR_AGENT_STATE && smp->operation == SMP_READ) {
        write_state(agent, answer);
        return AR_SMP_OK;
    }
    if (smp->command == AR_AGENT_HISTOGRAM && smp->operation == SMP_READ) {
        return write_histogram(agent, smp, answer);
    }
    if (smp->command == AR_AGENT_WINDOW && smp->operation == SMP_WRITE) {
        return close_window(agent, smp, answer);
    }
    return AR_SMP_RC(AR_SMP_UNSUPPORTED);
}
