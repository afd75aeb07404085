#include "camera_report.h"
#include "app_settings.h"
#include "camera_app.h"
#include "console.h"
#include "port.h"

enum { SHOWN = 32 }; /* most scores of a line */

uint32_t app_shows_scores;

static void note(const char *text)
{
    console_begin();
    console_text(text);
    console_end();
}

static void number(uint64_t value, const char *text)
{
    console_number(value);
    console_text(text);
}

/* Begins a line with the time at which a frame began. */
static void begin_at(uint32_t frame)
{
    console_begin();
    console_text("[");
    console_decimal((uint64_t)frame * CAMERA_FRAME_US / 1000u, 3);
    console_text(" s] ");
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
    begin_at(frame);
    number(frame, ": frame dropped, because row ");
    number(row, " was lost");
    console_end();
}

void app_report_missing(uint32_t frame, uint32_t count)
{
    begin_at(frame);
    number(count, count == 1 ? " frame is missing" : " frames are missing");
    console_end();
}

void app_print(const ar_event *event)
{
    begin_at((uint32_t)event->at);
    console_text(app_class(event->index));
    if (event->kind == AR_EVENT_START) {
        console_text(" ");
        number(app_percent(event->score), "% (frame ");
    } else {
        console_text(" ended (frame ");
    }
    number(event->at, ")");
    console_end();
}

void app_report_scores(uint32_t frame)
{
    if (!app_shows_scores) {
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
    number(sum, " (frame ");
    number(frame, ")");
    console_end();
}

static void milliseconds(uint64_t ticks, const char *text)
{
    console_decimal(ticks * 10u / (PORT_TICKS_PER_US * 1000u), 1);
    console_text(text);
}

#ifndef PORT_FRAMEWORK
extern uint32_t ar_stack_low[], ar_stack_top[];

/* Appends how much of the stack was used, by the paint of start-up that is left. */
static void stack(void)
{
    const uint32_t *word = ar_stack_low;
    while (word < ar_stack_top && *word == PORT_STACK_PAINT) {
        word++;
    }
    console_text(", stack ");
    number((uint32_t)(ar_stack_top - word) * 4u, " of ");
    number((uint32_t)(ar_stack_top - ar_stack_low) * 4u, " bytes");
}
#else
static void stack(void) {}
#endif

void app_report_counts(void)
{
    const uint64_t period = (uint64_t)APP_HOP * CAMERA_FRAME_US * PORT_TICKS_PER_US;
    const uint32_t count = app_state.inferences ? app_state.inferences : 1;
    console_begin();
    number(app_state.frames, " frames, ");
    number(app_state.inferences, " answered, ");
    number(app_state.dropped, " dropped, ");
    number(app_state.missing, " missing, ");
    number(app_state.late, " late, ");
    number(app_state.stuck, " times stuck, ");
    number(app_state.silent, " times silent, ");
    number(console_dropped(), " lines dropped, latency at most ");
    milliseconds(app_state.worst_latency, " ms, mean ");
    milliseconds(app_state.latency / count, " ms, busiest frame ");
    console_decimal((uint64_t)app_state.worst_busy * 1000u / period, 1);
    console_text("% of its time, mean ");
    console_decimal(app_state.busy / count * 1000u / period, 1);
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
            note("Rows arrive again.");
        }
    } else if (!is_silent && ticks - last_arrival > APP_SILENT_US * PORT_TICKS_PER_US) {
        is_silent = 1;
        app_state.silent++;
        note("No rows arrive.");
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
        note("The picture does not change.");
    }
}

static uint32_t is_equal(const char *text, const char *expected)
{
    while (*text && *text == *expected) {
        text++;
        expected++;
    }
    return *text == *expected;
}

void app_serve(void)
{
    console_poll();
    const char *command = console_received();
    if (!command) {
        return;
    }
    if (is_equal(command, "status")) {
        app_report_counts();
    } else if (is_equal(command, "scores")) {
        app_shows_scores = !app_shows_scores;
    } else {
        note("Unknown command. The commands are: status, scores");
    }
}
