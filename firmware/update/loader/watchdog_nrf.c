/* The watchdog of Nordic's nRF51 and nRF52. It runs until the next reset of the chip, also after a restart by software.
 */
#include "health.h"

#define WDT(offset) (*(volatile uint32_t *)(0x40010000u + (offset)))

void port_watchdog_start(void)
{
    WDT(0x504) = PORT_WATCHDOG_MS * 32768u / 1000u; /* CRV */
    WDT(0x508) = 1;                                 /* RREN: the first reload register */
    WDT(0x50C) = 1;                                 /* CONFIG: it runs while the processor sleeps */
    WDT(0x000) = 1;                                 /* START */
}

void port_watchdog_feed(void) { WDT(0x600) = 0x6E524635u; /* RR[0] */ }
