/* What ESP-IDF makes of sdkconfig.defaults; the tests give the figures on the command line. */
#pragma once
#ifndef CONFIG_ESP_MAIN_TASK_STACK_SIZE
#define CONFIG_ESP_MAIN_TASK_STACK_SIZE 3584
#endif
