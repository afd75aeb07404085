/* An application that looks: each row of a frame goes into the model as it arrives. */
#include "camera_app.h"
#include "app_settings.h"
#include "app_stream.h"
#include "camera.h"
#include "camera_report.h"
#include "camera_stream.h"
#include "console.h"
#include "port.h"
#include "sensor.h"

camera_counts app_state;
static uint32_t frame, next_row; /* the frame that arrives, and its next row */
static uint32_t is_taken;        /* whether the rows of this frame go into the model */
static uint32_t answered;        /* the last frame that the model answered */
static uint32_t sum;             /* checksum of the frame's pixels */
static uint32_t began, asleep;   /* ticks at the last decision, and ticks asleep since then */
static ar_event events[APP_EVENTS];
static uint32_t event_count, event_next;

void app_start(void)
{
    console_port_init();
    frame = UINT32_MAX; /* the one before frame 0 */
    answered = UINT32_MAX - APP_GAP;
    app_report_start(camera_start());
}

void app_sleep(void)
{
    const uint32_t start = port_ticks();
    sensor_wait();
    asleep += port_ticks() - start;
}

/* Drops the frame that arrives, if the model takes it. Its row `row` did not arrive. */
static void drop(uint32_t row)
{
    if (is_taken) {
        is_taken = 0;
        began = port_ticks();
        asleep = 0;
        app_state.lost++;
        app_report_dropped(frame, row);
    }
}

static void begin_frame(uint32_t number)
{
    const uint32_t missing = number - frame - 1;
    drop(next_row);
    if (missing) {
        app_state.missing += missing;
        app_state.lost += missing;
        app_report_missing(number, missing);
    }
    app_state.frames += missing + 1;
    frame = number;
    next_row = 0;
    sum = 0;
    is_taken = number % APP_HOP == 0;
    if (is_taken) {
        if (number - answered > APP_GAP) { /* also in the first frame */
            app_restart();
            began = port_ticks();
            asleep = 0;
        }
        app_begin();
    }
}

static void answer(uint32_t arrival)
{
    is_taken = 0;
    event_count = app_decide(frame, events);
    event_next = 0;
    answered = frame;
    const uint32_t ticks = port_ticks(), latency = ticks - arrival, busy = ticks - began - asleep;
    began = ticks;
    asleep = 0;
    app_state.inferences++;
    app_state.latency += latency;
    app_state.worst_latency = latency > app_state.worst_latency ? latency : app_state.worst_latency;
    app_state.busy += busy;
    app_state.worst_busy = busy > app_state.worst_busy ? busy : app_state.worst_busy;
    app_state.late += latency > (uint64_t)APP_HOP * CAMERA_FRAME_US * PORT_TICKS_PER_US;
    app_report_scores(frame, busy);
    app_stream_events(events, event_count);
    app_watch_picture(sum);
}

/* Adds the pixels to the checksum, 4 bytes at a time. The bytes after the row are 0. */
static void add_to_sum(const uint8_t *pixels)
{
    const uint32_t *words = (const uint32_t *)(const void *)pixels;
    uint32_t total = sum;
    for (uint32_t k = 0; k < (CAMERA_ROW_BYTES + 3u) / 4u; k++) {
        total = (total ^ words[k]) * 16777619u;
        total ^= total >> 15;
    }
    sum = total;
}

static void take(const camera_row *row)
{
    /* With the command "binary hold", the camera waits for the port: a row arrives when the port has room. */
    const uint32_t arrival = app_stream_keeps_all() ? port_ticks() : row->ticks;
    if (is_taken && row->row != next_row) {
        drop(next_row);
    }
    next_row = row->row + 1;
    uint32_t is_complete = 0;
    if (is_taken) {
        add_to_sum(row->pixels);
        is_complete = app_row(row->pixels);
    }
    camera_release();
    if (is_complete) {
        answer(arrival);
    }
}

/* Waits while the command "binary hold" stops the camera's time. This counts as sleep. */
static void wait_for_port(void)
{
    while (app_stream_holds()) {
        const uint32_t start = port_ticks();
        sensor_wait();
        camera_poll();
        app_serve();
        asleep += port_ticks() - start;
    }
}

uint32_t app_next_event(ar_event *event)
{
    for (;;) {
        camera_row row;
        app_serve();
        if (event_next < event_count) {
            *event = events[event_next++];
            return 1;
        }
        wait_for_port();
        camera_poll();
        const uint32_t has_arrived = camera_oldest(&row);
        app_watch_rows(has_arrived);
        if (!has_arrived) {
            return 0;
        }
        if (row.frame != frame) {
            begin_frame(row.frame);
        }
        while (row.frame % APP_HOP == 0 && !camera_stream_row(&row)) {
            wait_for_port();
        }
        take(&row);
    }
}
