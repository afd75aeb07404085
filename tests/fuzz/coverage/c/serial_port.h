/* A serial port whose host is the fuzzer. The firmware reads the bytes of serial_receive. After the last byte, the
 * fuzz target continues after its setjmp(serial_end). */
#ifndef ARENITE_FUZZ_SERIAL_PORT_H
#define ARENITE_FUZZ_SERIAL_PORT_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

extern jmp_buf serial_end;

/* Sets the bytes that port_getc returns. They must stay valid until the end of the input. */
void serial_receive(const uint8_t *data, size_t size);

/* Called for each byte that the firmware sends. */
void serial_sent(uint8_t byte);

#endif
