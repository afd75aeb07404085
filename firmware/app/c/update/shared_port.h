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

/* Takes bytes from the port, and does a bounded part of the work for updates: at most an erasure of a page, the programming
 * of 64 bytes, or the handling of some bytes. Returns 1 if the device must reset. */
int shared_port_serve(void);

/* The functions of ar_update_board. */
int shared_port_put(void *context, uint8_t byte);
void shared_port_text(void *context, uint8_t byte);

#endif
