/* The program of a state machine of the RP2040's or RP2350's PIO that takes the pixels of a camera. At each rising edge
 * of the pixel clock it takes CAMERA_DATA_BITS bits, if HREF is high. HREF is the pin of its jumps. */
#ifndef ARENITE_RP2_CAMERA_PROGRAM_H
#define ARENITE_RP2_CAMERA_PROGRAM_H

#include <stdint.h>

enum { RP2_CAMERA_LENGTH = 5, RP2_CAMERA_WRAP_TARGET = 0, RP2_CAMERA_WRAP = 4 };

/* Writes the program, for the pixel clock at pin `clock` and `bits` data pins. */
static inline void rp2_camera_program(uint16_t *to, uint32_t clock, uint32_t bits)
{
    to[0] = (uint16_t)(0x2000u | clock); /* wait 0 gpio clock */
    to[1] = (uint16_t)(0x2080u | clock); /* wait 1 gpio clock */
    to[2] = 0x00C0u | 4u;                /* jmp pin, 4 */
    to[3] = 0x0000u;                     /* jmp 0 */
    to[4] = (uint16_t)(0x4000u | bits);  /* in pins, bits */
}

#endif
