/* A stand-in for esp_cpu.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include <stdint.h>
typedef uint32_t esp_cpu_cycle_count_t;
esp_cpu_cycle_count_t esp_cpu_get_cycle_count(void);
int esp_cpu_get_core_id(void);
