#include "agent_glue.h"

#include "cause.h"
#include "device_agent.h"
#include "device_parts.h"
#include "health.h"
#include "port.h"

static ar_agent agent;
/* Start-up does not clear it, so it counts the starts as long as the RAM keeps its content. */
static uint32_t starts AR_NOINIT;

#ifdef AR_UPDATE_PARTITIONS
/* The chip itself stores the reason, that of port_restart too. */
static uint32_t cause_of_start(void) { return agent_hardware_cause(); }
#else
/* Returns the reason that port_restart left before a reset, or else the one that the hardware has. */
static uint32_t cause_of_start(void)
{
    static const uint8_t causes[] = {[PORT_REQUESTED] = AR_CAUSE_SOFTWARE,
                                     [PORT_FAULT] = AR_CAUSE_FAULT,
                                     [PORT_WATCHDOG] = AR_CAUSE_WATCHDOG};
    const uint32_t hardware = agent_hardware_cause(), reason = port_reason ^ PORT_REASON_MAGIC;
    port_reason = 0; /* a reset without port_restart must not find it */
    return reason != 0 && reason < sizeof causes ? causes[reason] : hardware;
}
#endif

void agent_glue_start(void) { ar_agent_start(&agent, cause_of_start(), ++starts, port_ticks()); }

void agent_glue_tick(void) { ar_agent_tick(&agent, port_ticks(), PORT_TICKS_PER_MS * 1000u); }

static int answer_group(void *context, uint32_t group, uint32_t command, ar_cbor_writer *answer)
{
    const ar_update *update = context;
    return group == AR_AGENT_GROUP && command != 0 ? ar_agent_answer(&agent, &update->smp, answer)
                                                   : device_group(context, group, command, answer);
}

void agent_glue_connect(ar_update *update) { update->actions.group = answer_group; }

static uint32_t sign_of(const ar_io *tensor) { return tensor->dtype == AR_INT8 ? 128u : 0u; }

uint32_t agent_glue_infer(const ar_model *model, const ar_golden *golden, uint32_t number)
{
    ar_golden_sample sample = golden->samples[number % golden->count];
    if (!sample.inputs) {
        sample.seed = number ? number : 1; /* the generator stays at 0 */
    }
    ar_self_test_fill(model, &sample);
    if (AR_AGENT_INPUT) {
        const ar_io *input = &model->inputs[0];
        ar_observe_input(&agent.observations, input->data, input->bytes, sign_of(input));
    }
    const uint32_t start = port_ticks();
    ar_self_test_run(model, health_alive);
    /* The counters of boards with an agent have whole ticks in a microsecond. PORT_MICROSECONDS would need 64 bits on an
     * ESP32. */
    const uint32_t latency_us = (port_ticks() - start) / PORT_TICKS_PER_US;
    ar_observe_output(&agent.observations, latency_us, model->outputs[0].data, sign_of(&model->outputs[0]));
    return latency_us;
}
