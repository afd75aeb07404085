/* What update_main.c needs from the code that handles updates, and the functions that it has for that code. */
#ifndef ARENITE_UPDATE_GLUE_H
#define ARENITE_UPDATE_GLUE_H

#include <stdint.h>

/* Reads the state of the updates. Called once, before the self-test. */
void update_glue_start(void);
/* Feeds the watchdog. Called before each layer of the self-test. */
void update_glue_alive(void);
/* Confirms images on trial if `result` is 0, and otherwise rejects them for the reason `result`, from 1 to 255. */
void update_glue_judge(uint32_t result);
/* Takes a byte from the serial port, or does a part of the work that an earlier one began. */
void update_glue_serve(void);

/* Takes a byte of a line of text. */
void update_text(uint8_t byte);
/* Sends text. */
void update_print(const char *text);

#endif
