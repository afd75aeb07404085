/* How the device fares: why it started, a watchdog, and a log that survives a reset. docs/health.md tells what it means.
 *
 * Without AR_HEALTH (the option --health of the generator) all of it is nothing.
 */
#ifndef ARENITE_HEALTH_H
#define ARENITE_HEALTH_H

#include <stdint.h>

#include "firmware_features.h"

/* Memory that start-up does not clear. */
#ifndef AR_NOINIT
#if defined(ESP_PLATFORM) || defined(ESP32)
#define AR_NOINIT __attribute__((section(".rtc_noinit")))
#elif defined(ESP8266) /* its linker script takes this name alone; others would lie where the heap begins */
#define AR_NOINIT __attribute__((section(".noinit")))
#elif defined(ARDUINO_ARCH_RP2040)
#define AR_NOINIT __attribute__((section(".uninitialized_data.arenite_log")))
#else
#define AR_NOINIT __attribute__((section(".noinit.arenite_log")))
#endif
#endif

/* Why the device started. The first three are those that port.h has without health. */
enum {
    HEALTH_POWER_ON = 0,
    HEALTH_REQUESTED,
    HEALTH_FAULT,
    HEALTH_WATCHDOG,
    HEALTH_BROWN_OUT,
    HEALTH_PIN,      /* the reset pin, or a debugger */
    HEALTH_SOFTWARE, /* a reset by software that was not asked for */
    HEALTH_OTHER,    /* memory was kept, and nothing tells more */
    HEALTH_UNKNOWN   /* the hardware does not tell */
};

/* What stands in the log; docs/health.md says what its two words are. */
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

/* Once, at start: learn why, write it down, and start the watchdog. */
void health_start(void);

/* The device gets on: feeds the watchdog. Between layers and while it waits for the host; never while it sends. */
void health_alive(void);

/* After each inference: counts it, and looks at guards and stack. */
void health_inference(void);

/* Something that may happen often: an entry that counts, while nothing else comes between. */
void health_count(uint32_t code);

/* From a trap: write down where it happened. `what` is the core's own word for it. */
void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t what);

/* Why the device started. */
uint32_t health_cause(void);

/* Answers the commands HEALTH and LOG from words[0] on; how many bytes. */
uint32_t health_report(uint32_t *words);
uint32_t health_log(uint32_t *words, uint32_t clear);

#else
static inline void health_start(void) {}
static inline void health_alive(void) {}
static inline void health_inference(void) {}
static inline void health_count(uint32_t code) { (void)code; }
#endif

/* What the port of a board gives, where PORT_HAS_RESET_CAUSE or PORT_WATCHDOG_MS say so. */
#if defined(ARDUINO) || defined(ESP_PLATFORM)
#define PORT_HAS_RESET_CAUSE 1
extern const uint32_t port_watchdog_ms; /* 0: there is none, and the functions do nothing */
#define PORT_WATCHDOG_MS port_watchdog_ms
#endif
uint32_t port_reset_cause(uint32_t *word); /* one of the HEALTH_ causes; `word`: the hardware's own */
void port_watchdog_start(void);
void port_watchdog_feed(void);

#endif
