/* The functions that the user of examples/bare_metal/main.c must write, for the serial port of an MPS2 board. */
#include "port.h"

void read_input(void *to, uint32_t bytes);
void show_integer(int64_t value);
void show_real(float value);
void end_line(void);

static void begin(void)
{
    static int is_initialized;
    if (!is_initialized) {
        is_initialized = 1;
        port_init();
        /* The computer sends nothing before this line: port_init drops bytes that have already arrived. */
        port_putc('\n');
    }
}

void read_input(void *to, uint32_t bytes)
{
    begin();
    for (uint8_t *at = to; bytes--;) {
        *at++ = port_getc();
    }
}

void show_integer(int64_t value)
{
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value), count = 0;
    char digits[10];
    do {
        digits[count++] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (value < 0) {
        port_putc('-');
    }
    while (count) {
        port_putc((uint8_t)digits[--count]);
    }
    port_putc(' ');
}

void show_real(float value) { (void)value; } /* the models of the tests have no real outputs */

void end_line(void) { port_putc('\n'); }
