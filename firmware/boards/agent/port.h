/* The functions that a board provides to the code that serves a model: serial bytes, a counter, and a restart.
 *
 * One port_<family>.c implements this; start_<architecture>.c brings the machine to main().
 */
#ifndef ARENITE_PORT_H
#define ARENITE_PORT_H

#include "firmware_features.h"
#include <stdint.h>

/* An Arduino core, ESP-IDF or Zephyr: it has main(), start-up, the clock and the stack, and port_<framework> uses them. */
#if defined(ARDUINO) || defined(ESP_PLATFORM) || defined(__ZEPHYR__)
#define PORT_FRAMEWORK 1
#endif

/* The reason of a start; kept over a reset in a word that start-up does not clear. */
enum { PORT_POWER_ON = 0, PORT_ASKED = 1, PORT_FAULT = 2, PORT_WATCHDOG = 3 };
#define PORT_REASON_MAGIC 0xA4E17E00u
extern uint32_t port_reason;

/* Start-up fills the unused stack with this word; the deepest word that changed is the high-water mark. */
#define PORT_STACK_PAINT 0x5AC3A5E1u

/* An instruction on a RISC-V control register. The extension is named here, not in -march, because the compiler picks
 * its library by -march and has none for names with Zicsr. */
#define PORT_CSR(text) ".option push\n.option arch, +zicsr\n" text "\n.option pop\n"

/* Serial port and counter ready for use. */
void port_init(void);

/* Next byte from the host; waits for it. */
uint8_t port_getc(void);

/* One byte to the host; waits until it can be sent. */
void port_putc(uint8_t byte);

/* A free-running counter that counts up and wraps at 32 bits. Its rate is 0 where it counts instructions: the
 * board's profile then has the ratio. */
#ifdef PORT_FRAMEWORK
extern uint32_t port_tick_hz;
#define PORT_TICK_HZ port_tick_hz
#define PORT_TICKS_PER_US (port_tick_hz / 1000000u)
/* Zephyr's counter may run at 32768 Hz: then a microsecond has no whole tick, and a millisecond is right to 1 %. */
#define PORT_TICKS_PER_MS ((port_tick_hz + 500u) / 1000u)
#define PORT_MICROSECONDS(ticks) \
    ((ticks) / port_tick_hz * 1000000u + (ticks) % port_tick_hz * 1000000u / port_tick_hz)
#else
#define PORT_TICK_HZ 0u
#define PORT_TICKS_PER_MS (PORT_TICKS_PER_US * 1000u)
#define PORT_MICROSECONDS(ticks) ((ticks) / PORT_TICKS_PER_US)
#endif
uint32_t port_ticks(void);

/* Raise a pin, or lower it. */
#ifdef AR_MARK
extern const uint32_t ar_mark_pin; /* in a variable, so that no pin makes longer code than another */
void port_mark(uint32_t on);
#else
static inline void port_mark(uint32_t on) { (void)on; }
#endif

/* The pin is up exactly while an inference computes, from before its first layer to after the last. Where the input comes
 * row by row, it is up while the rows that have arrived are computed, and down while the firmware waits for more. In
 * MLPerf's energy mode it shows timestamps instead. */
static inline void port_computing(uint32_t on)
{
#ifdef AR_MLPERF_ENERGY
    (void)on;
#else
    port_mark(on);
#endif
}

/* Bits per second of the serial port. */
#ifndef PORT_BAUD
#define PORT_BAUD 115200u
#endif

/* Start again from the reset vector; `reason` is one of the PORT_ values above. */
void port_restart(uint32_t reason) __attribute__((noreturn));

#endif
