/* Convert windows of a motion sensor to a tensor with integer arithmetic: statistics and bands of an FFT of each axis,
 * or the samples themselves.
 *
 * The caller provides scratch memory: the samples of an axis, rounded up to a multiple of 8 bytes, then that of
 * `bands` (see audio.h), aligned to 8.
 */
#ifndef ARENITE_IMU_H
#define ARENITE_IMU_H

#include <stdint.h>

#include "affine.h"
#include "audio.h"

enum {
    AR_IMU_MEAN = 0,
    AR_IMU_STD = 1,
    AR_IMU_RMS = 2,
    AR_IMU_MIN = 3,
    AR_IMU_MAX = 4,
    AR_IMU_PEAK_TO_PEAK = 5,
    AR_IMU_ZERO_CROSSINGS = 6,
    AR_IMU_MEAN_CROSSINGS = 7,
    AR_IMU_ENERGY = 8
};

typedef struct {
    const ar_audio *bands;     /* a sound of one frame; 0 for no bands */
    const uint8_t *statistics; /* AR_IMU_ */
    ar_affine affine;          /* channel 0 maps values in units of samples, channel 1 shares */
    uint16_t window;           /* samples of an axis, 2 to 4096 */
    uint16_t unit;             /* the sample that is 1, which divides the energy */
    uint8_t axes;
    uint8_t statistics_count;
    uint8_t remove_mean; /* whether the mean is subtracted before the FFT */
} ar_imu;

/* Converts a window of samples, those of all axes of a moment one after the other, to the tensor `to`: the
 * ar_frame_function of audio_stream.h. `front` is an ar_imu; `memory` is not used. */
void ar_imu_frame(const void *front, void *memory, const int16_t *samples, void *to, void *scratch);

#endif
