/* The functions that a board provides for the agent: serial bytes, a counter, and a restart.
 *
 * One port_<family>.c implements these functions; start_<architecture>.c starts the core and calls main().
 */
#ifndef ARENITE_PORT_H
#define ARENITE_PORT_H

#include "firmware_features.h"
#include <stdint.h>

/* An Arduino core, ESP-IDF or Zephyr is a framework that provides main(), start-up, clock and stack;
 * port_<framework> uses them. */
#if defined(ARDUINO) || defined(ESP_PLATFORM) || defined(__ZEPHYR__)
#define PORT_FRAMEWORK 1
#endif

/* The reason of a start, stored in a word that start-up does not clear, so that it survives a reset. */
enum { PORT_POWER_ON = 0, PORT_REQUESTED = 1, PORT_FAULT = 2, PORT_WATCHDOG = 3 };
#define PORT_REASON_MAGIC 0xA4E17E00u
extern uint32_t port_reason;

/* Start-up fills the unused stack with this word; the deepest word that changed is the high-water mark. */
#define PORT_STACK_PAINT 0x5AC3A5E1u

/* An instruction on a RISC-V control register. The extension is named here, not in -march, because the compiler picks
 * its library by -march and has none for names with Zicsr. */
#define PORT_CSR(text) ".option push\n.option arch, +zicsr\n" text "\n.option pop\n"

/* Initializes the serial port and the counter. */
void port_init(void);

/* Waits for the next byte from the host and returns it. */
uint8_t port_getc(void);

/* Waits until a byte can be sent, and sends it to the host. */
void port_putc(uint8_t byte);

/* port_ticks returns a free-running counter that counts up and wraps at 32 bits. PORT_TICK_HZ is the rate of the
 * counter, or 0 if it counts instructions: the board's profile then has the ratio of ticks to instructions. */
#ifdef PORT_FRAMEWORK
extern uint32_t port_tick_hz;
#define PORT_TICK_HZ port_tick_hz
#define PORT_TICKS_PER_US (port_tick_hz / 1000000u)
/* Zephyr's counter may run at 32768 Hz: then a tick is longer than a microsecond, and a millisecond is accurate to 1
 * %. */
#define PORT_TICKS_PER_MS ((port_tick_hz + 500u) / 1000u)
#define PORT_MICROSECONDS(ticks) \
    ((ticks) / port_tick_hz * 1000000u + (ticks) % port_tick_hz * 1000000u / port_tick_hz)
#else
#define PORT_TICK_HZ 0u
#define PORT_TICKS_PER_MS (PORT_TICKS_PER_US * 1000u)
#define PORT_MICROSECONDS(ticks) ((ticks) / PORT_TICKS_PER_US)
#endif
uint32_t port_ticks(void);

/* Sets the mark pin high (1) or low (0). */
#ifdef AR_MARK
extern const uint32_t ar_mark_pin; /* a variable, so that the code has the same size for every pin */
void port_mark(uint32_t on);
#else
static inline void port_mark(uint32_t on) { (void)on; }
#endif

/* Sets the mark pin. It is high from before the first layer of an inference to after the last. If the input arrives
 * row by row, the pin is high while layers compute and low while the firmware waits for rows. In MLPerf's energy
 * mode the pin shows timestamps instead. */
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

/* Starts again from the reset vector; `reason` is one of the PORT_ values above. */
void port_restart(uint32_t reason) __attribute__((noreturn));

#endif
