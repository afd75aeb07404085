/* An application with a sensor whose samples arrive one after the other: a microphone, a motion sensor, a converter of
 * voltages. */
#include "app.h"
#include "app_report.h"
#include "app_settings.h"
#include "app_stream.h"
#include "console.h"
#include "port.h"
#include "sensor.h"

/* Samples that are moved at once: about 64 values. */
enum { BLOCK = SENSOR_CHANNELS < 16 ? 64 / SENSOR_CHANNELS : 4 };
enum { FILL = BLOCK < 16 ? BLOCK : 16 }; /* samples that take the place of lost ones at once */

app_counts app_state;
static int16_t block[BLOCK][SENSOR_CHANNELS]; /* samples from the sensor */
static uint32_t in_block;                     /* samples of `block` that were not fed yet */
static uint32_t missing;                      /* lost samples before `block` that were not replaced yet */
static const int16_t *chunk;                  /* the samples that are fed now */
static uint32_t in_chunk;
static uint32_t window_began, asleep; /* ticks at the end of the last window, and ticks asleep since then */
static uint32_t is_steady;            /* the next window is not a first one */
static ar_event events[APP_EVENTS];   /* of the last window */
static uint32_t event_count, event_next;

#if APP_HOLDS
/* A motion sensor measures gravity, and a voltage is seldom 0: the last sample before a gap fills it. */
static int16_t filler[FILL][SENSOR_CHANNELS], newest[SENSOR_CHANNELS];

static void keep_newest(void)
{
    for (uint32_t c = 0; c < SENSOR_CHANNELS && in_block; c++) {
        newest[c] = block[in_block - 1][c];
    }
}

static const int16_t *fill_gap(void)
{
    for (uint32_t k = 0; k < FILL; k++) {
        for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
            filler[k][c] = newest[c];
        }
    }
    return filler[0];
}
#else
static void keep_newest(void) {}

static const int16_t *fill_gap(void)
{
    static const int16_t silence[FILL][SENSOR_CHANNELS];
    return silence[0];
}
#endif

uint64_t app_period(void)
{
    return console_divide((uint64_t)APP_HOP * PORT_TICKS_PER_US * UINT64_C(1000000), APP_RATE);
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

/* Waits while the command "binary hold" stops the time of the sensor. This counts as sleep. */
static void wait_for_port(void)
{
    const uint32_t began = port_ticks();
    while (app_stream_holds()) {
        sensor_wait();
        sensor_poll();
        app_watch(block[0], 0);
        app_serve();
    }
    asleep += port_ticks() - began;
}

static void read_sensor(void)
{
    sensor_poll();
    wait_for_port();
    in_block = sensor_read(block[0], BLOCK, &missing);
    app_watch(block[0], in_block);
    if (missing) {
        app_state.lost += missing;
        app_report_lost(missing);
    }
    app_stream_samples(app_state.samples + missing, block[0], in_block, SENSOR_CHANNELS);
}

/* Chooses the samples to feed next: a filler for the lost ones, then those of the block. After a gap that is longer than
 * a window, all events end, and features and decisions start again. Returns 0 if no samples have arrived. */
static uint32_t next_chunk(void)
{
    if (!missing && !in_block) {
        read_sensor();
    }
    if (missing > APP_WINDOW) {
        event_count = app_end(app_state.samples - 1, events);
        event_next = 0;
        app_stream_events(events, event_count);
        app_state.samples += missing;
        missing = 0;
        app_restart(app_state.samples);
        is_steady = 0;
    }
    if (missing) {
        chunk = fill_gap();
        in_chunk = missing < FILL ? missing : FILL;
        missing -= in_chunk;
    } else {
        keep_newest();
        chunk = block[0];
        in_chunk = in_block;
        in_block = 0;
    }
    return in_chunk;
}

static void run_window(void)
{
    const uint32_t is_open = app_is_open();
    event_count = is_open ? app_decide(events) : app_decide_closed(events);
    event_next = 0;
    const uint32_t ticks = port_ticks(), busy = ticks - window_began - asleep;
    window_began = ticks;
    asleep = 0;
    sensor_poll();
    if (app_has_scores(is_open)) {
        app_stream_scores(app_state.samples - 1, busy);
    }
    app_stream_events(events, event_count);
    app_state.windows++;
    app_state.gated += !is_open;
    if (is_steady) {
        app_state.busy += busy;
        app_state.worst = busy > app_state.worst ? busy : app_state.worst;
    } else {
        app_state.starts++;
        app_state.first = busy > app_state.first ? busy : app_state.first;
    }
    is_steady = 1;
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
        if (!in_chunk) {
            if (!next_chunk() && event_next == event_count) {
                return 0;
            }
            continue; /* a gap may have ended events, which come before its samples */
        }
        uint32_t is_complete;
        const uint32_t taken = app_feed(chunk, in_chunk, &is_complete);
        chunk += taken * SENSOR_CHANNELS;
        in_chunk -= taken;
        app_state.samples += taken;
        if (is_complete) {
            run_window();
        }
    }
}
