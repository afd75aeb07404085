/* A board whose port knows why it started, such as an ESP32 with ESP-IDF (esp_reset_reason). */
#include "cause.h"
#include "device_agent.h"
#include "health.h"

uint32_t agent_hardware_cause(void)
{
    /* There is no cause for a low supply, which ends like a loss of power. Other reasons, such as the end of a deep sleep,
     * are unknown. */
    static const uint8_t causes[] = {
        [HEALTH_POWER_ON] = AR_CAUSE_POWER_ON,  [HEALTH_REQUESTED] = AR_CAUSE_SOFTWARE,
        [HEALTH_FAULT] = AR_CAUSE_FAULT,        [HEALTH_WATCHDOG] = AR_CAUSE_WATCHDOG,
        [HEALTH_BROWN_OUT] = AR_CAUSE_POWER_ON, [HEALTH_PIN] = AR_CAUSE_PIN,
        [HEALTH_SOFTWARE] = AR_CAUSE_SOFTWARE};
    uint32_t word;
    const uint32_t reason = port_reset_cause(&word);
    return reason < sizeof causes ? causes[reason] : AR_CAUSE_UNKNOWN;
}
