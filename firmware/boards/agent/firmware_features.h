/* Optional features of this firmware. The generator writes this file for each project; this copy has no features.
 *
 * AR_MARK: a pin is high while an inference computes. ARENITE_MARK_PIN: its number.
 * AR_MLPERF_ENERGY: the pin shows the timestamps of MLPerf's energy mode instead.
 * AR_HEALTH: the device reports its health, and has a watchdog and a log that survives a reset. PORT_WATCHDOG_MS: the
 * time in milliseconds after which the watchdog resets the device.
 * PORT_BAUD: the speed of the serial port, if it is not 115200.
 */
#ifndef ARENITE_FEATURES_H
#define ARENITE_FEATURES_H

#endif
