/* Finds the cause of a reset from the flags in the reset registers of several families of microcontrollers. */
#ifndef ARENITE_RESET_CAUSE_H
#define ARENITE_RESET_CAUSE_H

#include "health.h"

/* Returns the most specific cause, since several flags may be set: every reset that pulls the reset line also sets the
 * flag of the pin, and power-on sets the flags of all supply monitors. A flag that a family lacks is 0. */
static inline uint32_t reset_cause(uint32_t watchdog, uint32_t software, uint32_t power_on,
                                   uint32_t brown_out, uint32_t pin)
{
    return watchdog    ? HEALTH_WATCHDOG
           : software  ? HEALTH_SOFTWARE
           : power_on  ? HEALTH_POWER_ON
           : brown_out ? HEALTH_BROWN_OUT
           : pin       ? HEALTH_PIN
                       : HEALTH_UNKNOWN;
}

#endif
