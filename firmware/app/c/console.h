/* The serial port of an application. Nothing here waits: if nobody reads the port, complete lines are dropped and
 * counted. */
#ifndef ARENITE_CONSOLE_H
#define ARENITE_CONSOLE_H

#include <stdint.h>

/* The board's serial port: each function returns 0 if the port is not ready. */
void console_port_init(void);
uint32_t console_port_put(uint8_t byte);
uint32_t console_port_get(uint8_t *byte);

/* Begin a line, append to it, and end it. A line that does not fit the buffer is dropped as a whole. */
void console_begin(void);
void console_text(const char *text);
void console_number(uint64_t value);
void console_decimal(uint64_t value, uint32_t digits); /* a point before the last `digits` digits */
void console_end(void);

/* Moves bytes between the buffer and the serial port. Call it often. */
void console_poll(void);

/* Returns the next line that was received, without its end, or 0. The text is valid until the next call. */
const char *console_received(void);

/* Returns the number of lines that were dropped so far. */
uint32_t console_dropped(void);

#endif
