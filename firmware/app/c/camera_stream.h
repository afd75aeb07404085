/* The frames that only an application with a camera sends: rows of pictures. docs/protocol.md describes them. */
#ifndef ARENITE_CAMERA_STREAM_H
#define ARENITE_CAMERA_STREAM_H

#include "camera.h"

/* Sends the next part of a row, if the command was "binary samples" or "binary hold". If the port has no room for the part
 * and for an event, it is dropped. Returns whether it was the last part of the row; otherwise call it again. */
uint32_t camera_stream_row(const camera_row *row);

/* Returns whether the virtual camera of an emulated board must stop its time: the command "binary hold" was sent, and the
 * port has no room or a row waits. */
uint32_t camera_stream_holds(void);

#endif
