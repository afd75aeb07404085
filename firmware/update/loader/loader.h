/* What the boot loader needs of its core besides port.h. */
#ifndef ARENITE_LOADER_H
#define ARENITE_LOADER_H

#include <stdint.h>

/* Runs the program whose vector table is at `vectors`. */
void loader_run(uint32_t vectors) __attribute__((noreturn));

#endif
