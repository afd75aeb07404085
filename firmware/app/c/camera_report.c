#include "camera_report.h"
#include "app_settings.h"
#include "app_stream.h"
#include "camera_app.h"
#include "console.h"
#include "port.h"

enum { SHOWN = 32 }; /* most scores of a line */

uint32_t app_shows_scores;

/* Begins a line with the time at which a frame began. */
static void begin_at(uint32_t frame)
{
    console_begin();
    console_time(console_divide((uint64_t)frame * CAMERA_FRAME_US, 1000));
}

void app_report_start(uint32_t problem)
{
    console_begin();
    if (problem) {
        console_text("The camera did not start: problem ");
        console_number(problem);
    } else {
        console_text("Started; microseconds per frame: ");
        console_number(CAMERA_FRAME_US);
    }
    console_end();
}

void app_report_dropped(uint32_t frame, uint32_t row)
{
    if (app_stream_lost(frame, 1)) {
        return;
    }
    begin_at(frame);
    console_count(frame, ": frame dropped, because row ");
    console_count(row, " was lost");
    console_end();
}

void app_report_missing(uint32_t frame, uint32_t count)
{
    if (app_stream_lost(frame - count, count)) {
        return;
    }
    begin_at(frame);
    console_count(count, count == 1 ? " frame is missing" : " frames are missing");
    console_end();
}

void app_print(const ar_event *event)
{
    if (console_uses_frames()) {
        return; /* the event was sent with the scores of its frame */
    }
    begin_at((uint32_t)event->at);
    console_text(app_class(event->index));
    if (event->kind == AR_EVENT_START) {
        console_text(" ");
        console_count(app_percent(event->score), "% (frame ");
    } else {
        console_text(" ended (frame ");
    }
    console_count(event->at, ")");
    console_end();
}

void app_report_scores(uint32_t frame, uint32_t ticks)
{
    app_stream_scores(frame, ticks);
    if (console_uses_frames() || !app_shows_scores) {
        return;
    }
    uint32_t sum = 2166136261u; /* FNV-1a of all scores */
    begin_at(frame);
    console_text("scores");
    for (uint32_t k = 0; k < APP_CLASSES; k++) {
        const int32_t score = app_score(k);
        sum = (sum ^ (uint8_t)score) * 16777619u;
        if (k < SHOWN) {
            console_text(score < 0 ? " -" : " ");
            console_number((uint64_t)(score < 0 ? -score : score));
        }
    }
    console_text(" sum ");
    console_count(sum, " (frame ");
    console_count(frame, ")");
    console_end();
}

static void milliseconds(uint64_t ticks, const char *text)
{
    console_decimal(console_divide(ticks * 10u, PORT_TICKS_PER_US * 1000u), 1);
    console_text(text);
}

#if !defined(PORT_FRAMEWORK) && !defined(PICO_ON_DEVICE)
extern uint32_t ar_stack_low[], ar_stack_top[];

/* Appends how much of the stack was used, by the paint of start-up that is left. */
static void stack(void)
{
    const uint32_t *word = ar_stack_low;
    while (word < ar_stack_top && *word == PORT_STACK_PAINT) {
        word++;
    }
    console_text(", stack ");
    console_count((uint32_t)(ar_stack_top - word) * 4u, " of ");
    console_count((uint32_t)(ar_stack_top - ar_stack_low) * 4u, " bytes");
}
#else
static void stack(void) {}
#endif

void app_report_counts(void)
{
    const uint64_t period = (uint64_t)APP_HOP * CAMERA_FRAME_US * PORT_TICKS_PER_US;
    const uint32_t count = app_state.inferences ? app_state.inferences : 1;
    console_begin();
    console_count(app_state.frames, " frames, ");
    console_count(app_state.inferences, " answered, ");
    console_count(app_state.lost - app_state.missing, " dropped, ");
    console_count(app_state.missing, " missing, ");
    console_count(app_state.late, " late, ");
    console_count(app_state.stuck, " times stuck, ");
    console_count(app_state.silent, " times silent, ");
    console_count(console_dropped(), " lines dropped, latency at most ");
    milliseconds(app_state.worst_latency, " ms, mean ");
    milliseconds(console_divide(app_state.latency, count), " ms, busiest frame ");
    console_decimal(console_divide((uint64_t)app_state.worst_busy * 1000u, period), 1);
    console_text("% of its time, mean ");
    console_decimal(console_divide(console_divide(app_state.busy, count) * 1000u, period), 1);
    console_text("%");
    stack();
    console_end();
}

void app_watch_rows(uint32_t has_arrived)
{
    static uint32_t last_arrival, is_silent;
    const uint32_t ticks = port_ticks();
    if (has_arrived) {
        last_arrival = ticks;
        if (is_silent) {
            is_silent = 0;
            console_note("Rows arrive again.");
        }
    } else if (!is_silent && ticks - last_arrival > APP_SILENT_US * PORT_TICKS_PER_US) {
        is_silent = 1;
        app_state.silent++;
        console_note("No rows arrive.");
    }
}

void app_watch_picture(uint32_t sum)
{
    static uint32_t last, equal;
    if (sum != last) {
        last = sum;
        equal = 0;
    } else if (++equal == APP_STUCK) {
        app_state.stuck++;
        console_note("The picture does not change.");
    }
}

void app_serve(void)
{
    console_poll();
    app_stream_serve();
    const char *command = console_received();
    if (!command) {
        return;
    }
    if (console_is_equal(command, "status")) {
        app_report_counts();
    } else if (console_is_equal(command, "scores")) {
        app_shows_scores = !app_shows_scores;
    } else if (!app_stream_command(command)) {
        console_note("Unknown command. The commands are: status, scores, binary, text");
    }
}
