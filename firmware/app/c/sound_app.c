/* An application that listens. */
#include "app.h"
#include "app_report.h"
#include "app_settings.h"
#include "app_stream.h"
#include "console.h"
#include "port.h"
#include "sensor.h"

enum { BLOCK = 64 };

app_counts app_state;
static int16_t block[BLOCK]; /* samples from the sensor */
static uint32_t in_block;    /* samples of `block` that were not fed yet */
static uint32_t missing;     /* lost samples before `block` that were not replaced yet */
static const int16_t *chunk; /* the samples that are fed now */
static uint32_t in_chunk;
static uint32_t window_began, asleep; /* ticks at the end of the last window, and ticks asleep since then */
static ar_event events[APP_EVENTS];   /* of the last window */
static uint32_t event_count, event_next;

uint32_t app_period(void)
{
    return (uint32_t)((uint64_t)APP_HOP * PORT_TICKS_PER_US * UINT64_C(1000000) / APP_RATE);
}

void app_start(void)
{
    console_port_init();
    app_restart(0);
    app_model_start();
    app_report_start(sensor_start(APP_RATE));
    window_began = port_ticks();
}

void app_sleep(void)
{
    const uint32_t began = port_ticks();
    sensor_wait();
    asleep += port_ticks() - began;
}

static void read_sensor(void)
{
    sensor_poll();
    if (app_stream_holds()) {
        app_watch(block, 0);
        return;
    }
    in_block = sensor_read(block, BLOCK, &missing);
    app_watch(block, in_block);
    if (missing) {
        app_state.lost += missing;
        app_report_lost(missing);
    }
    app_stream_samples(app_state.samples + missing, block, in_block, 1);
}

/* Chooses the samples to feed next: silence for the lost ones, then those of the block. Features start again after a
 * gap that is longer than a window. Returns 0 if no samples have arrived. */
static uint32_t next_chunk(void)
{
    static const int16_t silence[BLOCK];
    if (!missing && !in_block) {
        read_sensor();
    }
    if (missing > APP_WINDOW) {
        app_state.samples += missing;
        missing = 0;
        app_restart(app_state.samples);
    }
    if (missing) {
        chunk = silence;
        in_chunk = missing < BLOCK ? missing : BLOCK;
        missing -= in_chunk;
    } else {
        chunk = block;
        in_chunk = in_block;
        in_block = 0;
    }
    return in_chunk;
}

static void run_window(void)
{
    event_count = app_decide(events);
    event_next = 0;
    const uint32_t ticks = port_ticks(), busy = ticks - window_began - asleep;
    window_began = ticks;
    asleep = 0;
    sensor_poll();
    app_stream_window(app_state.samples - 1, busy, events, event_count);
    app_state.windows++;
    app_state.busy += busy;
    app_state.worst = busy > app_state.worst ? busy : app_state.worst;
    app_state.late += sensor_waiting() + in_block + in_chunk + missing >= APP_HOP;
}

uint32_t app_next_event(ar_event *event)
{
    for (;;) {
        app_serve();
        if (event_next < event_count) {
            *event = events[event_next++];
            return 1;
        }
        if (!in_chunk && !next_chunk()) {
            return 0;
        }
        uint32_t is_complete;
        const uint32_t taken = app_feed(chunk, in_chunk, &is_complete);
        chunk += taken;
        in_chunk -= taken;
        app_state.samples += taken;
        if (is_complete) {
            run_window();
        }
    }
}
