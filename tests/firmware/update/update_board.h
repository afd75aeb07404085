/* A device with updates on a model of its flash memories: boot loader, firmware and model in two slots each. A tick is the
 * time of a byte at 115,200 baud. */
#ifndef UPDATE_BOARD_H
#define UPDATE_BOARD_H

#include "device.h"

typedef struct {
    uint32_t page_bytes, unit_bytes, check_bits;
    uint32_t firmware_pages, model_pages; /* of a slot; 0 pages: there is no model */
    uint32_t erase_us, program_us;        /* of a page, and of a unit */
} board_geometry;

typedef struct board board;

board *board_create(const board_geometry *geometry, const char *name, const uint8_t *public_key);
void board_destroy(board *b);
/* Writes an image to a slot, as a factory does. */
void board_put_image(board *b, uint32_t pair, uint32_t slot, const uint8_t *data, uint32_t bytes);
/* Copies the content of a slot. */
void board_get_slot(board *b, uint32_t pair, uint32_t slot, uint8_t *data, uint32_t bytes);
/* Turns the power on, and cuts it in operation `operations` from now on, if that is not 0. Returns the result of the boot
 * loader, or -2 if the power was cut in it. */
int board_start(board *b, uint32_t operations);
/* Puts bytes on the line to the device, behind those that are on their way. */
void board_send(board *b, const uint8_t *data, uint32_t bytes);
/* Takes at most `bytes` bytes that have arrived from the device. Returns their number. */
uint32_t board_take(board *b, uint8_t *data, uint32_t bytes);
/* Drops the bytes that are on their way. */
void board_pull(board *b);
/* Lets time pass until the device has sent bytes that nobody took, at most `ticks` ticks. Returns 1, or 0 if the power was
 * cut. The device resets when it wants to. */
int board_run(board *b, uint32_t ticks);
double board_seconds(const board *b);
/* Returns a message if a rule of the flash memory was broken, or 0. */
const char *board_violation(const board *b);
/* Returns the number of operations on the flash memory since the start. */
uint32_t board_operations(const board *b);
uint32_t board_phase(const board *b);
uint32_t board_resets(const board *b);
/* For a device in real time: */
int board_receive(board *b, uint8_t byte);
/* Does a step. Returns the result of ar_update_step, after the reset if that is AR_SMP_RESET. */
int board_step(board *b);

#endif
