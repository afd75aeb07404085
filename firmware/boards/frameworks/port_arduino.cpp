/* Port for any board with an Arduino core. It uses `Serial`, and the counter with the highest rate that the core has.
 *
 * PlatformIO's environments of real boards build this file. It was compiled and run with a stub of the Arduino core
 * on a computer, but never on a board.
 */
#ifdef ARDUINO
#include <Arduino.h>

extern "C" {
#include "agent.h"
#include "health.h"
#include "port.h"
}

#if defined(AR_MLPERF_ENERGY) || !defined(ARENITE_BAUD)
#undef ARENITE_BAUD
#define ARENITE_BAUD PORT_BAUD
#endif
/* Bytes below the frame of setup() that are painted, to find the deepest use of the stack. */
#ifndef ARENITE_STACK
#define ARENITE_STACK 1024
#endif
/* Bytes that are not painted, because this file's functions use them while they paint and read. */
#define STACK_MARGIN 128

#ifdef AR_HEALTH
#include "port_arduino_health.h"
#endif

uint32_t port_tick_hz;
#ifdef AR_HEALTH
AR_NOINIT uint32_t port_reason;
#else
uint32_t port_reason; /* Arduino cores clear it at start, so a restart looks like power-on */
#endif

#if defined(ESP32) || defined(ESP8266)
uint32_t port_ticks(void)
{
#ifdef ESP8266
    ESP.wdtFeed(); /* called between layers; the core's own watchdog expires after about three seconds */
#endif
    return ESP.getCycleCount();
}
static void start_counter() { port_tick_hz = ESP.getCpuFreqMHz() * 1000000u; }
static void reset_board() { ESP.restart(); }
#elif defined(DWT) && defined(DWT_CTRL_CYCCNTENA_Msk)
uint32_t port_ticks(void) { return DWT->CYCCNT; }
static void start_counter()
{
    CoreDebug->DEMCR |= CoreDebug_DEMCR_TRCENA_Msk;
    DWT->CYCCNT = 0;
    DWT->CTRL |= DWT_CTRL_CYCCNTENA_Msk;
    port_tick_hz = SystemCoreClock;
}
static void reset_board() { NVIC_SystemReset(); }
#else
uint32_t port_ticks(void) { return micros(); }
static void start_counter() { port_tick_hz = 1000000u; }
static void reset_board()
{
#if defined(__ARM_ARCH)
    NVIC_SystemReset();
#endif
}
#endif

/* The painted words, the deepest first. On a core with an operating system this is the stack of the loop task. */
static uint32_t *painted;

static void __attribute__((noinline)) paint_stack()
{
    uint8_t *frame = static_cast<uint8_t *>(__builtin_frame_address(0));
    painted =
        reinterpret_cast<uint32_t *>(reinterpret_cast<uintptr_t>(frame - ARENITE_STACK) & ~uintptr_t{3});
    for (uint32_t i = 0; i < (ARENITE_STACK - STACK_MARGIN) / 4; i++) {
        static_cast<volatile uint32_t *>(painted)[i] = PORT_STACK_PAINT;
    }
}

uint32_t ar_stack_bytes(void) { return ARENITE_STACK; }

uint32_t ar_stack_used(void)
{
    uint32_t untouched = 0;
    while (untouched < ARENITE_STACK / 4 &&
           static_cast<volatile uint32_t *>(painted)[untouched] == PORT_STACK_PAINT) {
        untouched++;
    }
    return ARENITE_STACK - 4 * untouched;
}

void port_init(void)
{
    Serial.begin(ARENITE_BAUD);
#if defined(ESP32) && defined(CONFIG_FREERTOS_UNICORE)
    disableCore0WDT(); /* it requires that the idle task runs, but this loop leaves no time for that */
#endif
#ifdef AR_MARK
    pinMode(ARENITE_MARK_PIN, OUTPUT);
    digitalWrite(ARENITE_MARK_PIN, LOW);
#endif
    start_counter();
}

#ifdef AR_MARK
void port_mark(uint32_t on) { digitalWrite(ARENITE_MARK_PIN, on ? HIGH : LOW); }
#endif

uint8_t port_getc(void)
{
    while (Serial.available() <= 0) {
        health_alive();
        yield(); /* lets a core with an operating system run its own tasks */
    }
    return static_cast<uint8_t>(Serial.read());
}

void port_putc(uint8_t byte) { Serial.write(byte); }

void port_restart(uint32_t reason)
{
    Serial.flush();
    port_reason = PORT_REASON_MAGIC | reason;
    reset_board();
    for (;;) {
        yield();
    }
}

void setup()
{
    paint_stack();
    port_init();
    ar_prepare();
}

void loop() { ar_serve(); }
#endif
