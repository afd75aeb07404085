/* ESP-IDF generates this file from sdkconfig.defaults. The tests define the values on the command line. */
#pragma once
#ifndef CONFIG_ESP_MAIN_TASK_STACK_SIZE
#define CONFIG_ESP_MAIN_TASK_STACK_SIZE 3584
#endif
