/* The serial port of an application that takes updates. Lines and frames of the application (console.h) share it with the
 * frames of updates (smp.h): neither begins before the other one has ended.
 *
 * This file has the functions console_port_put(), console_port_get() and sensor_wait(), so the driver of the board is
 * compiled with other names for its own. */
#ifndef ARENITE_SHARED_PORT_H
#define ARENITE_SHARED_PORT_H

#include "device.h"

/* The driver of the board: console_port_put(), console_port_get() and sensor_wait() of console.h and sensor.h. */
uint32_t board_port_put(uint8_t byte);
uint32_t board_port_get(uint8_t *byte);
void board_wait(void);

/* Connects the port with updates; 0: every byte is text. */
void shared_port_connect(ar_update *update);

/* The work for updates is done in turns: up to 64 bytes, or a part of an action, which may be the hash of 256 bytes, the
 * programming of 64, or the erasure of a page. sensor_wait() takes a turn, so an update takes the time in which the loop
 * waits for samples. If there was no turn for 20 ms, shared_port_serve() takes turns for up to 4 ms, or until the port was
 * quiet for 1 ms, so an update also goes on if the loop never waits. Both reset the device when an update asks for it. */
void shared_port_serve(void);

/* The functions of ar_update_board. */
int shared_port_put(void *context, uint8_t byte);
void shared_port_text(void *context, uint8_t byte);

#endif
