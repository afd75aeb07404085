/* Why the device started, as far as the hardware tells. */
#ifndef ARENITE_AGENT_CAUSE_H
#define ARENITE_AGENT_CAUSE_H

#include <stdint.h>

/* Returns a value of AR_CAUSE_... (device_agent.h). Call it once after a start: it may clear the hardware's register. */
uint32_t agent_hardware_cause(void);

#endif
