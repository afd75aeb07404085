#include "app_stream.h"
#include "app_settings.h"
#include "console.h"
#include "port.h"

enum { HELLO = 1, CLASS, SAMPLES, LOST, SCORES, EVENT, HEALTH }; /* 8: CONSOLE_TEXT, 9: in camera_stream.c */
enum { VERSION = 1, MAX_SCORES = 200 };
/* Samples are only sent if the buffer then still has room for an event, the scores and a line. */
enum { RESERVE = 192, OVERHEAD = 24 };

enum { TEXT, BINARY, WITH_SAMPLES, HOLD };

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

static uint32_t mode;      /* the command that was sent last */
static uint32_t described; /* frames of the description that were sent: HELLO, and a CLASS for each class */
static uint32_t last_health;

uint32_t app_stream_command(const char *command)
{
    static const char names[][15] = {"text", "binary", "binary samples", "binary hold"};
    uint32_t k = 0;
    while (!console_is_equal(command, names[k])) {
        if (k == HOLD) {
            return 0;
        }
        k++;
    }
    mode = k;
    console_use_frames(k != TEXT);
    described = 0;
    last_health = port_ticks() - PORT_TICKS_PER_US * 1000000u;
    return 1;
}

static void put_word(uint32_t value) { console_value(value, 4); }

static void send_description(void)
{
    if (described == 0) {
        console_frame(HELLO, VERSION);
        put_word(APP_SENSOR | APP_CHANNELS << 8 | APP_CLASSES << 16);
        put_word(APP_RATE);
        put_word(APP_WINDOW);
        put_word(APP_HOP);
        put_word(PORT_TICKS_PER_US * 1000000u);
        put_word((uint32_t)app_period());
        put_word(APP_WIDTH | APP_HEIGHT << 16);
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
    app_put_health();
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

uint32_t app_stream_may_send(uint32_t bytes)
{
    if (mode < WITH_SAMPLES) {
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
    if (count == 0 || !app_stream_may_send(8 + 2 * count * channels)) {
        return;
    }
    console_frame(SAMPLES, channels);
    console_value(at, 8);
    console_bytes(samples, 2 * count * channels);
    console_end();
}

uint32_t app_stream_lost(uint64_t at, uint32_t count)
{
    if (!console_uses_frames()) {
        return 0;
    }
    console_frame(LOST, 0);
    console_value(at, 8);
    put_word(count);
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
    put_word((uint32_t)event->score);
    console_end();
}

void app_stream_scores(uint64_t at, uint32_t ticks)
{
    if (!console_uses_frames()) {
        return;
    }
    console_frame(SCORES, 0);
    console_value(at, 8);
    put_word(ticks);
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

uint32_t app_stream_keeps_all(void) { return mode == HOLD; }

uint32_t app_stream_holds(void)
{
    return mode == HOLD &&
           (described <= APP_CLASSES || console_room() < CONSOLE_FRAME_DATA + OVERHEAD + RESERVE);
}
