/* The samples of a sensor on their way from its driver to the application. A sample has SENSOR_CHANNELS values, such as
 * the axes of an accelerometer, one after the other; `count`, `most` and `lost` count samples, not values.
 *
 * One driver is linked: a C file of its own, written for one family of chips, which defines sensor_start(),
 * sensor_poll() and sensor_wait(). It hands over samples with sensor_write(), either from one interrupt or from
 * sensor_poll(). The application reads them with sensor_read(). No function waits but sensor_wait(). */
#ifndef ARENITE_SENSOR_H
#define ARENITE_SENSOR_H

#include <stdint.h>

/* Starts the sensor with `rate` samples per second. Returns 0, or a number that the driver's file explains. */
uint32_t sensor_start(uint32_t rate);

/* Hands over the samples that arrived since the last call. A driver with an interrupt has nothing to do here. */
void sensor_poll(void);

/* Sleeps until an interrupt, at most about a millisecond. */
void sensor_wait(void);

/* Called by the driver: `count` samples arrived, after `lost` samples that are missing. Samples for which there is no
 * room are lost too. */
void sensor_write(const int16_t *samples, uint32_t count, uint32_t lost);

/* Copies up to `most` samples to `to` and returns their number. `lost` becomes the number of samples that are missing
 * immediately before them. */
uint32_t sensor_read(int16_t *to, uint32_t most, uint32_t *lost);

/* Returns the number of samples that wait to be read. */
uint32_t sensor_waiting(void);

#endif
