/* A board whose hardware tells no reason of a start. */
#include "cause.h"
#include "device_agent.h"

uint32_t agent_hardware_cause(void) { return AR_CAUSE_UNKNOWN; }
