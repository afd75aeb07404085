/* Health of the device: the reason of its start, a watchdog, and a log that survives a reset; see docs/health.md.
 *
 * Without AR_HEALTH (the option --health of the generator) these functions do nothing.
 */
#ifndef ARENITE_HEALTH_H
#define ARENITE_HEALTH_H

#include <stdint.h>

#include "firmware_features.h"

/* AR_NOINIT puts a variable into memory that start-up does not clear. */
#ifndef AR_NOINIT
#if defined(ESP_PLATFORM) || defined(ESP32)
#define AR_NOINIT __attribute__((section(".rtc_noinit")))
#elif defined(ESP8266) /* its linker script knows only this name; other sections would overlap the heap */
#define AR_NOINIT __attribute__((section(".noinit")))
#elif defined(ARDUINO_ARCH_RP2040)
#define AR_NOINIT __attribute__((section(".uninitialized_data.arenite_log")))
#else
#define AR_NOINIT __attribute__((section(".noinit.arenite_log")))
#endif
#endif

/* Reasons of a start. The first four are the same as in port.h. */
enum {
    HEALTH_POWER_ON = 0,
    HEALTH_REQUESTED,
    HEALTH_FAULT,
    HEALTH_WATCHDOG,
    HEALTH_BROWN_OUT,
    HEALTH_PIN,      /* the reset pin, or a debugger */
    HEALTH_SOFTWARE, /* a reset by software that the host did not request */
    HEALTH_OTHER,    /* memory kept its contents; the reason is unknown */
    HEALTH_UNKNOWN   /* the hardware does not report a reason */
};

/* Codes of the log's entries; docs/health.md explains their two words. */
enum {
    LOG_START = 1,
    LOG_FAULT,
    LOG_WATCHDOG,
    LOG_GUARD,
    LOG_STACK,
    LOG_BAD_FRAME,
    LOG_OUT_OF_ORDER,
    LOG_BAD_REQUEST
};

#ifdef AR_HEALTH

/* Finds the reason of the start, logs it, and starts the watchdog. Called once, at start. */
void health_start(void);

/* Feeds the watchdog and counts the uptime. Called between layers and while the device waits for the host, never
 * while it sends. */
void health_alive(void);

/* Counts an inference, and checks guards and stack. Called after each inference. */
void health_inference(void);

/* Logs an event that may happen often: equal events in a row share an entry that counts them. */
void health_count(uint32_t code);

/* Logs a fault; called from a trap. `trap` is the core's own code for the fault. */
void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t trap);

/* Returns the reason of the start. */
uint32_t health_cause(void);

/* Write the answers to the commands HEALTH and LOG from words[0] on, and return their size in bytes. */
uint32_t health_report(uint32_t *words);
uint32_t health_log(uint32_t *words, uint32_t clear);

#else
static inline void health_start(void) {}
static inline void health_alive(void) {}
static inline void health_inference(void) {}
static inline void health_count(uint32_t code) { (void)code; }
#endif

/* The port of a board provides these functions if it defines PORT_HAS_RESET_CAUSE or PORT_WATCHDOG_MS. */
#if defined(ARDUINO) || defined(ESP_PLATFORM)
#define PORT_HAS_RESET_CAUSE 1
extern const uint32_t port_watchdog_ms; /* 0: there is no watchdog, and its functions do nothing */
#define PORT_WATCHDOG_MS port_watchdog_ms
#endif
uint32_t port_reset_cause(uint32_t *word); /* returns a HEALTH_ reason; `word` gets the hardware's own code */
void port_watchdog_start(void);
void port_watchdog_feed(void);

#endif
