/* Updates over a serial port, as an application uses them: it connects the Simple Management Protocol (smp.h) with the
 * choice of images (boot.h) and the slots in flash. Nothing waits: each step does a small part of the work.
 *
 * Image 0 is the firmware, image 1 the model. Slot 0 is the one in use, slot 1 the other one. A new image is uploaded to
 * slot 1. An upload goes on after a pulled cable, and also after a reset: the last page of slot 1 names the file, if the
 * file leaves this page free, and the pages that are not erased tell how much of it is there.
 *
 * The check of signatures is the boot loader's. */
#ifndef ARENITE_UPDATE_DEVICE_H
#define ARENITE_UPDATE_DEVICE_H

#include "device_types.h"

/* Returns 0, or 1 if the memories do not suit. Call it after each start. */
int ar_update_start(ar_update *update, const ar_update_board *board);

/* Takes a byte from the port. An interrupt may call it. Returns 0 if the byte was lost. */
int ar_update_receive(ar_update *update, uint8_t byte);

/* Does a small part of the work. Returns AR_SMP_IDLE, AR_SMP_BUSY or AR_SMP_WAITING (smp.h), or AR_SMP_RESET: send what
 * the port still holds, and reset. */
int ar_update_step(ar_update *update);

/* Returns 1 while text would break a frame. */
int ar_update_is_in_line(const ar_update *update);

/* Returns 1 if the images in use are on trial. Then the application tests itself and calls one of the next two. */
int ar_update_is_trial(const ar_update *update);

/* Begin to save that the images have proved themselves, or that they have failed for a reason of 1 to 255. Return 0, or 1
 * if there is no trial or another save runs. ar_update_step does the rest. After a rejection it returns AR_SMP_RESET. */
int ar_update_confirm(ar_update *update);
int ar_update_reject(ar_update *update, uint32_t reason);

#endif
