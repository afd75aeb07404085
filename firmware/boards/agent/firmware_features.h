/* What this firmware has beyond serving a model; the generator writes this file anew for each project. Here: nothing.
 *
 * AR_MARK: a pin is raised while an inference computes. ARENITE_MARK_PIN: which.
 * AR_MLPERF_ENERGY: the pin tells the timestamps of MLPerf's energy mode instead.
 * AR_HEALTH: the device tells how it fares, has a watchdog and a log that survives a reset. PORT_WATCHDOG_MS: how long
 * it may show no sign of life.
 * PORT_BAUD: where the serial port has not its usual speed.
 */
#ifndef ARENITE_FEATURES_H
#define ARENITE_FEATURES_H

#endif
