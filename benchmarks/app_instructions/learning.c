/* Counts the instructions of learning windows. The model does not run: its output is filled with an embedding. */
#include "app.h"
#include "app_model.h"
#include "app_settings.h"
#include "console.h"
#include "learning.h"
#include "learning_state.h"
#include "port.h"
enum { SIZE = @SIZE, WARMUP = 64, WINDOWS = 96, SERVES = 64, SAVES = 5 };
static uint32_t seed = 1;
static int32_t noise(void)
{
    int32_t sum = 0;
    for (uint32_t k = 0; k < 4; k++) {
        seed = seed * 1664525u + 1013904223u;
        sum += (int32_t)(seed >> 24) - 128;
    }
    return sum; /* the deviation is 148 */
}
static void fill(int8_t *to, int32_t mean)
{
    for (int32_t i = 0; i < SIZE; i++) {
        const int32_t value = mean * (i * 7 % 41 - 20) + noise() * (1 + i % 12) / 148;
        to[i] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
    }
}
static void drain(void)
{
    while (console_room() < 512) {
        console_poll();
    }
}
static void tell(const char *name, uint32_t ticks)
{
    console_begin();
    console_text(name);
    console_number(ticks);
    console_end();
    drain();
}
int main(void)
{
    static int8_t input[SIZE];
    console_port_init();
    app_restart(0);
    learning_start();
    drain();
    const uint32_t began = port_ticks();
    for (uint32_t k = 0; k < SERVES; k++) {
        learning_serve();
    }
    tell("V", port_ticks() - began);
    for (uint32_t k = 0; k < SAVES; k++) {
        const uint32_t saves = learning.saves, t0 = port_ticks();
        learning.wants_save = 1;
        while (learning.saves == saves) {
            learning_serve();
        }
        tell("S", port_ticks() - t0);
    }
    int8_t *output = (int8_t *)(uintptr_t)@p_model_output_0();
    for (uint32_t w = 0; w < WINDOWS; w++) {
        fill(output, @MEAN);
#if APP_TAUGHT
        if (w == 1) {
            for (uint32_t k = 0; k < APP_TAUGHT; k++) {
                (void)APP_HEAD(teach)(k);
            }
        }
#endif
        ar_event events[APP_EVENTS];
        const uint32_t t0 = port_ticks();
#if @KEEPS
        for (uint32_t i = 0; i < SIZE; i++) {
            input[i] = ((const int8_t *)@p_model_input_0())[i];
        }
#endif
        (void)learning_window(@KEEPS ? input : 0, w, events);
        const uint32_t t1 = port_ticks();
        if (w >= WARMUP) {
            tell("U", t1 - t0);
        }
    }
    console_note("learning end");
    for (;;) {
        console_poll();
    }
}
