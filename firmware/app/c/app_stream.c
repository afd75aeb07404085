#include "app_stream.h"
#include <stddef.h>
#include "app_settings.h"
#include "console.h"
#include "port.h"

enum { HELLO = 1, CLASS, SAMPLES, LOST, SCORES, EVENT, HEALTH, ROW = 9 }; /* 8: CONSOLE_TEXT */
enum { VERSION = 1, MAX_SCORES = 200 };
/* Samples are only sent if the buffer then still has room for an event, the scores and a line. */
enum { RESERVE = 192, OVERHEAD = 24 };

#ifndef APP_SENSOR /* 1 sound, 2 motion, 3 analog inputs, 4 pictures */
#define APP_SENSOR 1u
#endif
#ifndef APP_CHANNELS
#define APP_CHANNELS 1u
#endif
#ifndef APP_WIDTH /* of pictures */
#define APP_WIDTH 0u
#define APP_HEIGHT 0u
#endif
#ifndef APP_CLASSES /* the model has no scores of classes */
#define APP_CLASSES 0u
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Messages have the lower byte first, and samples and counts are sent as they are in memory."
#endif

static uint32_t sends_samples, holds;
static uint32_t described; /* frames of the description that were sent: HELLO, and a CLASS for each class */
static uint32_t last_health;

uint32_t app_stream_command(const char *command)
{
    const uint32_t hold = console_is_equal(command, "binary hold");
    const uint32_t samples = hold || console_is_equal(command, "binary samples");
    const uint32_t text = console_is_equal(command, "text");
    if (!samples && !text && !console_is_equal(command, "binary")) {
        return 0;
    }
    console_use_frames(!text);
    sends_samples = samples;
    holds = hold;
    described = 0;
    last_health = port_ticks() - PORT_TICKS_PER_US * 1000000u;
    return 1;
}

static void send_description(void)
{
    if (described == 0) {
        console_frame(HELLO, VERSION);
        console_value(APP_SENSOR | APP_CHANNELS << 8 | APP_CLASSES << 16, 4);
        console_value(APP_RATE, 4);
        console_value(APP_WINDOW, 4);
        console_value(APP_HOP, 4);
        console_value(PORT_TICKS_PER_US * UINT64_C(1000000), 4);
        console_value(app_period(), 4);
        console_value(APP_WIDTH | APP_HEIGHT << 16, 4);
    } else {
        console_frame(CLASS, 0);
        console_value(described - 1, 2);
#if APP_CLASSES
        console_text(app_class(described - 1));
#endif
    }
    console_end();
    described++;
}

static void send_health(void)
{
    console_frame(HEALTH, 0);
    console_bytes(&app_state, offsetof(app_counts, gated));
    console_value(console_dropped_frames(), 4);
    console_value(console_dropped(), 4);
    console_value(app_state.gated, 4);
    console_end();
}

void app_stream_serve(void)
{
    if (!console_uses_frames()) {
        return;
    }
    if (described <= APP_CLASSES) {
        if (console_room() > CONSOLE_FRAME_DATA + OVERHEAD) {
            send_description();
        }
        return;
    }
    const uint32_t ticks = port_ticks();
    if (app_stream_holds()) {
        last_health = ticks; /* the processor waits for the reader, so this time is not the sensor's */
    } else if (ticks - last_health >= PORT_TICKS_PER_US * 1000000u) {
        last_health = ticks;
        send_health();
    }
}

/* Returns whether a frame of samples with `bytes` bytes may be sent now. */
static uint32_t may_send(uint32_t bytes)
{
    if (!console_uses_frames() || !sends_samples) {
        return 0;
    }
    if (console_room() < bytes + OVERHEAD + RESERVE) {
        console_drop_frame();
        return 0;
    }
    return 1;
}

void app_stream_samples(uint64_t at, const int16_t *samples, uint32_t count, uint32_t channels)
{
    if (count == 0 || !may_send(8 + 2 * count * channels)) {
        return;
    }
    console_frame(SAMPLES, channels);
    console_value(at, 8);
    console_bytes(samples, 2 * count * channels);
    console_end();
}

void app_stream_row(uint32_t picture, uint32_t row, uint32_t from, const uint8_t *bytes, uint32_t count,
                    uint32_t bytes_per_pixel)
{
    enum { PART = 192 }; /* bytes of a frame */
    for (uint32_t at = 0; at < count; at += PART) {
        const uint32_t part = count - at < PART ? count - at : PART;
        if (!may_send(8 + part)) {
            continue;
        }
        console_frame(ROW, bytes_per_pixel);
        console_value(picture, 4);
        console_value(row | (from + at) << 16, 4);
        console_bytes(bytes + at, part);
        console_end();
        console_poll();
    }
}

uint32_t app_stream_lost(uint64_t at, uint32_t count)
{
    if (!console_uses_frames()) {
        return 0;
    }
    console_frame(LOST, 0);
    console_value(at, 8);
    console_value(count, 4);
    console_end();
    return 1;
}

#if APP_CLASSES
static void put_percent(uint32_t percent) { console_value(percent < 255 ? percent : 255, 1); }
#endif

static void send_event(const ar_event *event)
{
    console_frame(EVENT, 0);
    console_value(event->at, 8);
    console_value(event->index, 2);
    console_value(event->kind == AR_EVENT_START, 1);
#if APP_CLASSES
    put_percent(app_event_percent(event));
#else
    console_value(0, 1);
#endif
    console_value((uint32_t)event->score, 4);
    console_end();
}

void app_stream_scores(uint64_t at, uint32_t ticks)
{
    if (!console_uses_frames()) {
        return;
    }
    console_frame(SCORES, 0);
    console_value(at, 8);
    console_value(ticks, 4);
#if APP_CLASSES
    for (uint32_t k = 0; k < APP_CLASSES && k < MAX_SCORES; k++) {
        put_percent(app_window_percent(k));
    }
#endif
    console_end();
}

void app_stream_events(const ar_event *events, uint32_t count)
{
    for (uint32_t k = 0; k < count && console_uses_frames(); k++) {
        send_event(events + k);
    }
}

uint32_t app_stream_holds(void) { return holds && console_room() < CONSOLE_FRAME_DATA + OVERHEAD + RESERVE; }
