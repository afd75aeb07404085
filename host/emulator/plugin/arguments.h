/* Reading the arguments of a plugin: "name=value", and lists of hexadecimal numbers between colons. */
#ifndef AR_PLUGIN_ARGUMENTS_H
#define AR_PLUGIN_ARGUMENTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* "name=value": the value when the name is this one, else 0. */
static inline const char *value_of(const char *argument, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : 0;
}

/* Numbers between colons into `to`; how many, at most `room`. */
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
