/* Reads the arguments of a plugin: "name=value", and lists of hexadecimal numbers between colons. */
#ifndef AR_PLUGIN_ARGUMENTS_H
#define AR_PLUGIN_ARGUMENTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of "name=value" if the name matches, otherwise 0. */
static inline const char *value_of(const char *argument, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : 0;
}

/* Reads the numbers between colons into `to`, at most `room` of them, and returns their count. */
static inline unsigned numbers(const char *text, uint64_t *to, unsigned room)
{
    unsigned count = 0;
    char *end;
    do {
        to[count++] = strtoull(text, &end, 16);
        text = end + 1;
    } while (*end == ':' && count < room);
    return count;
}

#endif
