/* What learning.c and learning_commands.c share. */
#ifndef ARENITE_LEARNING_STATE_H
#define ARENITE_LEARNING_STATE_H

#include "app_learning.h"
#include <stdint.h>

enum { LEARNING_NAME_BYTES = 16 }; /* of a class, with the 0 at its end */

typedef struct {
    uint64_t at;         /* the last sample of the last window */
    uint32_t score;      /* of the last window, 16 fractional bits, and the largest normal score before it */
    uint32_t threshold;  /* 2^32 - 1 during the warm-up */
    uint32_t distance;   /* to the nearest class, 16 fractional bits */
    int32_t to_teach;    /* class of which the next window is an example, or -1 */
    uint32_t wants_save; /* 1: begin a save as soon as no other one runs */
    uint32_t tells_save; /* 1: print when the next save is complete */
    uint32_t has_flash;  /* 0: the state is lost when the power fails */
    uint32_t saves;      /* complete ones since the start */
    uint32_t save_windows; /* since the last save */
    /* One more than there are classes, because an array cannot be empty. */
    char names[APP_TAUGHT + 1][LEARNING_NAME_BYTES];
} learning_state;

extern learning_state learning;

/* Print a line with the time and the number of a sample, and the start and the end of such a line. */
void learning_note(const char *text);
void learning_begin(uint64_t sample);
void learning_end(uint64_t sample);

/* Appends a number with 16 fractional bits, and the name of a class, to the line. */
void learning_ratio(uint32_t value);
void learning_class(uint32_t index);

#endif
