/* Runs a model and counts the ticks of its layers, for both serial protocols. */
#include "agent.h"
#include "health.h"
#include "port.h"

/* The value of the counter at the start of the current layer. */
static uint32_t before;

void ar_profile(uint32_t layer)
{
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    const uint32_t now = port_ticks();
    ticks[layer] += now - before;
    before = now;
    health_alive();
}

void ar_resume(void) { before = port_ticks(); }

void ar_clear_ticks(void)
{
    uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    for (uint32_t i = 0; i < ar_this_firmware.model->layer_count; i++) {
        ticks[i] = 0;
    }
}

void ar_infer(uint32_t fresh, ar_run *run)
{
    const ar_model *model = ar_this_firmware.model;
    const uint32_t *ticks = ar_this_firmware.layer_ticks.data;
    const uint32_t requested = port_ticks();
    if (fresh && model->reset) {
        model->reset();
    }
    if (!model->stream) { /* with a stream, layers already ran while the input arrived */
        ar_clear_ticks();
    }
    port_computing(1);
    ar_resume();
    run->init = before - requested;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        if (model->layers[i]) {
            model->layers[i]();
            ar_profile(i);
        }
    }
    port_computing(0);
    uint64_t total = 0;
    for (uint32_t i = 0; i < model->layer_count; i++) {
        total += ticks[i];
    }
    run->total = total;
}
