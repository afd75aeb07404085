/* An agent behind the server of the Simple Management Protocol, for ctypes. */
#include "device_agent.h"

static ar_agent agent;
static ar_smp smp;
static uint8_t sent[4096];
static uint32_t sent_bytes;

static int put(void *context, uint8_t byte)
{
    (void)context;
    if (sent_bytes == sizeof sent) {
        return 0;
    }
    sent[sent_bytes++] = byte;
    return 1;
}

static int answer_group(void *context, uint32_t group, uint32_t command, ar_cbor_writer *answer)
{
    (void)context;
    (void)command;
    return group == AR_AGENT_GROUP ? ar_agent_answer(&agent, &smp, answer) : AR_SMP_RC(AR_SMP_UNSUPPORTED);
}

static const ar_smp_actions actions = {.put = put, .unit_bytes = 4, .group = answer_group};

void device_start(uint32_t cause, uint32_t boot, uint32_t ticks)
{
    ar_agent_start(&agent, cause, boot, ticks);
    ar_smp_start(&smp, &actions);
}

void device_tick(uint32_t ticks, uint32_t ticks_per_s) { ar_agent_tick(&agent, ticks, ticks_per_s); }

void device_observe(const uint8_t *input, uint32_t bytes, uint32_t input_sign, uint32_t latency_us,
                    const uint8_t *scores, uint32_t sign)
{
    ar_observe_input(&agent.observations, input, bytes, input_sign);
    ar_observe_output(&agent.observations, latency_us, scores, sign);
}

uint32_t device_counts(uint32_t number, uint16_t *to)
{
    const uint16_t *counts = 0;
    const uint32_t buckets = ar_histogram(&agent.observations, number, &counts);
    for (uint32_t i = 0; i < buckets; i++) {
        to[i] = counts[i];
    }
    return buckets;
}

/* Passes a frame to the server, and returns the bytes of its answer. */
uint32_t device_ask(const uint8_t *frame, uint32_t bytes, const uint8_t **answer)
{
    sent_bytes = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        while (!ar_smp_receive(&smp, frame[i])) {
            ar_smp_step(&smp);
        }
    }
    while (ar_smp_step(&smp) != AR_SMP_IDLE) {
    }
    *answer = sent;
    return sent_bytes;
}
