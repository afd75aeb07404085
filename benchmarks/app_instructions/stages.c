#include "app.h"
#include "app_settings.h"
#include "console.h"
#include "port.h"
#include "sound.h"
enum { SIGNALS = 5 };
enum { BLOCK = SENSOR_CHANNELS < 16 ? 64 / SENSOR_CHANNELS : 4, MOST = 6000 };
static uint32_t counted[MOST], count;
static int16_t block[BLOCK * SENSOR_CHANNELS];
static uint32_t seed = 1, phase, sound_next;
static void drain(void)
{
    while (console_room() < 512) {
        console_poll();
    }
}
static int16_t value(uint32_t signal)
{
    if (signal == SIGNALS) {
        return sound[sound_next++];
    }
    seed = seed * 1664525u + 1013904223u;
    const int32_t noise = (int32_t)(seed >> 16) - 32768;
    phase += 1300u + 700u * signal;
    const int32_t tone = (int32_t)(phase & 0xFFFFu) - 32768;
    switch (signal) {
    case 0:
        return 0;
    case 1:
        return (int16_t)(noise >> 11);
    case 2:
        return (int16_t)noise;
    case 3:
        return (int16_t)((tone >> 3) + (noise >> 8));
    default:
        return (int16_t)((phase >> 20 & 1u) ? noise >> 3 : noise >> 9);
    }
}
static void one(const char *name, uint32_t signal, uint32_t n)
{
    console_begin();
    console_text(name);
    console_number(signal);
    console_text(" ");
    console_number(n);
    console_end();
    drain();
}
static void stages(uint32_t signal)
{
    app_restart(0);
    uint32_t windows = 0;
    count = 0;
    while (signal < SIGNALS ? windows < 3 : sound_next + BLOCK * SENSOR_CHANNELS <= SOUND_VALUES) {
        for (uint32_t k = 0; k < BLOCK * SENSOR_CHANNELS; k++) {
            block[k] = value(signal);
        }
        const int16_t *at = block;
        uint32_t left = BLOCK;
        while (left) {
            uint32_t is_complete;
            const uint32_t began = port_ticks();
            const uint32_t taken = app_feed(at, left, &is_complete);
            const uint32_t ticks = port_ticks() - began;
            if (windows && count < MOST) {
                counted[count++] = ticks << 8 | taken;
            }
            at += taken * SENSOR_CHANNELS;
            left -= taken;
            if (is_complete) {
                uint32_t t0 = port_ticks();
                @p_model_invoke();
                uint32_t t1 = port_ticks();
                ar_event events[APP_EVENTS];
                const uint32_t n = @p_decide(@p_position() - 1, events);
                uint32_t t2 = port_ticks();
                if (windows < 3) {
                    one("I", signal, t1 - t0);
                    one("D", signal, t2 - t1);
                    one("N", signal, n);
                }
                windows++;
            }
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        console_begin();
        console_text("F");
        console_number(signal);
        console_text(" ");
        console_number(counted[k] >> 8);
        console_text(" ");
        console_number(counted[k] & 255u);
        console_end();
        drain();
    }
}
static void prints(void)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        for (uint64_t at = 9; at < UINT64_C(99999999999); at = at * 10 + 9) {
            const ar_event event = {
                .at = at, .index = 0, .score = 20, .kind = (uint8_t)(kind ? AR_EVENT_END : AR_EVENT_START)};
            const uint32_t t0 = port_ticks();
            app_print(&event);
            const uint32_t t1 = port_ticks();
            drain();
            one("P", kind, t1 - t0);
        }
    }
}
int main(void)
{
    console_port_init();
    for (uint32_t s = 0; s < SIGNALS + 1; s++) {
        stages(s);
    }
    prints();
    console_note("stages end");
    drain();
    app_start();
    uint32_t told = 0;
    for (;;) {
        ar_event event;
        while (app_next_event(&event)) {
        }
        if (app_state.windows - app_state.starts >= @N && !told) {
            told = 1;
            const uint32_t b = (uint32_t)app_state.busy, w = app_state.worst,
                           n = app_state.windows - app_state.starts, f = app_state.first;
            one("B", n, b);
            one("W", 0, w);
            one("S", 0, f);
            console_note("loop end");
            drain();
        }
        app_sleep();
    }
}
