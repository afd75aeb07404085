/* What update_main.c needs from the code that handles updates, and the functions that it has for that code. */
#ifndef ARENITE_UPDATE_GLUE_H
#define ARENITE_UPDATE_GLUE_H

#include <stdint.h>

/* Reads the state of the updates. Called once, before the self-test. */
void update_glue_start(void);
/* Confirms images on trial if `result` is 0, and otherwise rejects them for the reason `result`, from 1 to 255. */
void update_glue_judge(uint32_t result);
/* Sends a line about the last update. */
void update_glue_report(void);
/* Takes a byte from the serial port, or does a part of the work that an earlier one began. */
void update_glue_serve(void);

/* Takes a byte of a line of text. */
void update_text(uint8_t byte);
/* Send text, and a number. */
void update_print(const char *text);
void update_print_number(uint32_t number);

#endif
