/* The reset reason of Nordic's nRF51. Its bits add up over resets until software clears them. After a power-on or a
 * brown-out none is set. */
#include "cause.h"
#include "device_agent.h"

#define RESETREAS (*(volatile uint32_t *)0x40000400u)
enum { PIN = 1, WATCHDOG = 2, SOFTWARE = 4, LOCKUP = 8, ALL = 0x7000F };

uint32_t agent_hardware_cause(void)
{
    const uint32_t bits = RESETREAS;
    RESETREAS = ALL;
    /* QEMU 7 does not have this register: it reads 1 from its address at all times. */
    if (RESETREAS != 0) {
        return AR_CAUSE_UNKNOWN;
    }
    if (bits & WATCHDOG) {
        return AR_CAUSE_WATCHDOG;
    }
    if (bits & LOCKUP) {
        return AR_CAUSE_FAULT;
    }
    if (bits & SOFTWARE) {
        return AR_CAUSE_SOFTWARE;
    }
    return bits & PIN ? AR_CAUSE_PIN : AR_CAUSE_POWER_ON;
}
