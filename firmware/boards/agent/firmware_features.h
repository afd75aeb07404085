/* Features of this firmware beyond serving a model. The generator writes this file for each project; this copy has none.
 *
 * AR_MARK: a pin is raised while an inference computes. ARENITE_MARK_PIN: which.
 * AR_MLPERF_ENERGY: the pin shows the timestamps of MLPerf's energy mode instead.
 * AR_HEALTH: the device reports its health, and has a watchdog and a log that survives a reset. PORT_WATCHDOG_MS: the
 * watchdog's time in milliseconds.
 * PORT_BAUD: the speed of the serial port, where it is not the usual one.
 */
#ifndef ARENITE_FEATURES_H
#define ARENITE_FEATURES_H

#endif
