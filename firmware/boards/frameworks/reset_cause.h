/* What the reset registers of the families of microcontrollers have in common. */
#ifndef ARENITE_RESET_CAUSE_H
#define ARENITE_RESET_CAUSE_H

#include "health.h"

/* Of flags that may be set together: whoever pulls the reset line sets that of the pin as well, and when the supply comes
 * so does all that guards it. 0 for a flag that a family lacks. */
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
