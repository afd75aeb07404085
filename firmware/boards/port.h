/* What a board gives to the code that serves a model on it: bytes, a counter, and a way to start again.
 *
 * One port_<family>.c implements this; start_<architecture>.c brings the machine to main().
 */
#ifndef ARENITE_PORT_H
#define ARENITE_PORT_H

#include <stdint.h>

/* Why the device started; kept over a reset in a word that start-up does not clear. */
enum { PORT_POWER_ON = 0, PORT_ASKED = 1, PORT_FAULT = 2 };
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
#ifdef ARDUINO
extern uint32_t port_tick_hz;
#define PORT_TICK_HZ port_tick_hz
#define PORT_TICKS_PER_US (port_tick_hz / 1000000u)
#else
#define PORT_TICK_HZ 0u
#endif
uint32_t port_ticks(void);

/* Start again from the reset vector; `reason` is one of the PORT_ values above. */
void port_restart(uint32_t reason) __attribute__((noreturn));

#endif
