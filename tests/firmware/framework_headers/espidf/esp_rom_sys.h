#pragma once
#include <stdint.h>
uint32_t esp_rom_get_cpu_ticks_per_us(void);
