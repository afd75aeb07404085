/* Learns the strongest correlations between the values of an embedding: a low-rank covariance for the anomaly head. All
 * arithmetic is in integers.
 *
 * Each value is divided by its standard deviation. The rows of `components` are orthogonal, and the squared length of a
 * row is the variance in its direction. A new embedding becomes one more row, plane rotations make the rows orthogonal
 * again (Hestenes 1958), and the shortest row is dropped. The score is the squared Mahalanobis distance, in which all
 * other directions have the same variance (Tipping and Bishop 1999). */
#ifndef ARENITE_LOW_RANK_H
#define ARENITE_LOW_RANK_H

#include "anomaly.h"

/* The functions of `ar_anomaly.low_rank`. */
extern const ar_anomaly_low_rank ar_low_rank;

#endif
