#include "app_report.h"
#include <stddef.h>
#include "app.h"
#include "app_settings.h"
#include "app_stream.h"
#include "console.h"
#include "port.h"

/* Prints the time of a sample. */
static void time_of(uint64_t sample) { console_time(console_divide(sample * 1000u, APP_RATE)); }

void app_report_start(uint32_t problem)
{
    console_begin();
    console_text(problem ? "The sensor did not start: problem " : "Started; samples per second: ");
    console_number(problem ? problem : APP_RATE);
    console_end();
}

void app_report_lost(uint32_t count)
{
    if (app_stream_lost(app_state.samples, count)) {
        return;
    }
    console_begin();
    time_of(app_state.samples);
    console_count(count, " samples were lost");
    console_end();
}

void app_print(const ar_event *event)
{
    if (console_uses_frames()) {
        return; /* the event was sent with the scores of its window */
    }
    console_begin();
    time_of(event->at);
    console_text(app_class(event->index));
    if (event->kind == AR_EVENT_START) {
        console_text(" ");
        app_print_score(event);
        console_text(" (sample ");
    } else {
        console_text(" ended (sample ");
    }
    console_count(event->at, ")");
    console_end();
}

/* Prints the share that the ticks of `windows` windows have of their time. */
static void print_percent(uint64_t ticks, uint32_t windows)
{
    console_decimal(windows ? console_divide(console_divide(ticks * 10000u, app_period()), windows) : 0, 2);
}

static void print_counts(void)
{
    console_begin();
    console_count(app_state.samples, " samples, ");
    console_count(app_state.lost, " lost, ");
    console_count(app_state.windows, " windows, ");
    console_count(app_state.gated, " gated, ");
    console_count(app_state.late, " late, ");
    console_count(app_state.stuck, " times stuck, ");
    console_count(app_state.silent, " times silent, ");
    console_count(console_dropped(), " lines dropped, slowest window ");
    print_percent(app_state.worst, 1);
    console_text("% of its time, mean ");
    print_percent(app_state.busy, app_state.windows - app_state.starts);
    console_text("%, first ");
    print_percent(app_state.first, 1);
    console_text("%");
    app_print_runs();
    console_end();
}

void app_put_health(void)
{
    console_bytes(&app_state, offsetof(app_counts, gated));
    console_value(console_dropped_frames(), 4);
    console_value(console_dropped(), 4);
    console_value(app_state.gated, 4);
}

void app_watch(const int16_t *samples, uint32_t count)
{
    static uint32_t last_arrival, is_silent, equal;
    static int16_t last[SENSOR_CHANNELS];
    const uint32_t ticks = port_ticks();
    if (app_stream_holds()) {
        last_arrival = ticks; /* nobody asked the sensor */
    } else if (count) {
        last_arrival = ticks;
        if (is_silent) {
            is_silent = 0;
            console_note("Samples arrive again.");
        }
    } else if (!is_silent && ticks - last_arrival > PORT_TICKS_PER_US * 1000000u) {
        is_silent = 1;
        app_state.silent++;
        console_note("No samples arrived for a second.");
    }
    for (; count > 0; count--, samples += SENSOR_CHANNELS) {
        uint32_t has_changed = 0;
        for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
            has_changed |= (uint32_t)(samples[c] != last[c]);
            last[c] = samples[c];
        }
        if (has_changed) {
            equal = 0;
        } else if (++equal == APP_RATE) {
            app_state.stuck++;
            console_note("The samples did not change for a second.");
        }
    }
}

void app_serve(void)
{
    console_poll();
    app_stream_serve();
    app_model_serve();
    const char *command = console_received();
    if (command) {
        if (console_is_equal(command, "status")) {
            print_counts();
        } else if (!app_stream_command(command) && !app_model_command(command)) {
            console_note("Unknown command. " APP_COMMANDS);
        }
    }
}
