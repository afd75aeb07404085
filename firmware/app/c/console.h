/* The serial port of an application. Nothing here waits: if nobody reads the port, complete lines or frames are dropped
 * and counted. docs/protocol.md describes the frames. */
#ifndef ARENITE_CONSOLE_H
#define ARENITE_CONSOLE_H

#include <stdint.h>

/* The board's serial port: each function returns 0 if the port is not ready. */
void console_port_init(void);
uint32_t console_port_put(uint8_t byte);
uint32_t console_port_get(uint8_t *byte);

/* Returns `value` / `divisor`, and the divisor must be less than 2^63. The compiler's routine is several times larger and faster. */
uint64_t console_divide(uint64_t value, uint64_t divisor);

/* Begin a line, append to it, and end it. A line that does not fit the buffer is dropped as a whole. */
void console_begin(void);
void console_text(const char *text);
void console_number(uint64_t value);
void console_decimal(uint64_t value, uint32_t digits); /* a point before the last `digits` digits */
void console_count(uint64_t value, const char *text);  /* a number, and what it counts */
void console_time(uint64_t milliseconds);              /* "[1.250 s] " */
void console_end(void);

/* Writes a whole line. */
void console_note(const char *text);

/* Chooses whether lines are sent as text, or each one as a frame of the type CONSOLE_TEXT. */
enum { CONSOLE_TEXT = 8 };
void console_use_frames(uint32_t uses_frames);
uint32_t console_uses_frames(void);

/* Begin a frame, append numbers to it, lower byte first, and end it with console_end(). A frame has room for
 * CONSOLE_FRAME_DATA bytes; one that is longer, or that does not fit the buffer, is dropped as a whole. */
enum { CONSOLE_FRAME_DATA = 245 };
void console_frame(uint32_t type, uint32_t format);
void console_value(uint64_t value, uint32_t bytes);
void console_bytes(const void *data, uint32_t count);

/* Counts a frame as dropped that was not even begun. */
void console_drop_frame(void);

/* Returns the number of bytes for which the buffer has room. */
uint32_t console_room(void);

/* Moves bytes between the buffer and the serial port. Call it often. */
void console_poll(void);

/* Returns the next line that was received, without its end, or 0. The text is valid until the next call. */
const char *console_received(void);

/* Returns whether two texts are equal, such as a line that was received and a command. */
uint32_t console_is_equal(const char *text, const char *expected);

/* Return the number of lines, and of frames, that were dropped so far. */
uint32_t console_dropped(void);
uint32_t console_dropped_frames(void);

#endif
