"""The C code of a serial port that accepts a limited number of bytes."""

from __future__ import annotations

PORT = """\
#include "console.h"
static uint8_t sent[4096];
static uint32_t sent_count, room;
static const char *incoming = "";
void set_room(uint32_t bytes) { room = bytes; }
void set_incoming(const char *text) { incoming = text; }
uint32_t take(uint8_t *to)
{
    const uint32_t count = sent_count;
    for (uint32_t k = 0; k < count; k++) {
        to[k] = sent[k];
    }
    sent_count = 0;
    return count;
}
void console_port_init(void) {}
uint32_t console_port_put(uint8_t byte)
{
    if (room == 0) {
        return 0;
    }
    room--;
    sent[sent_count++] = byte;
    return 1;
}
uint32_t console_port_get(uint8_t *byte)
{
    if (*incoming == 0) {
        return 0;
    }
    *byte = (uint8_t)*incoming++;
    return 1;
}
"""
