/* For tests: the part of ESP-IDF's header that our code uses. esp_model.c has the function. */
#ifndef ESP_SYSTEM_H
#define ESP_SYSTEM_H

void esp_restart(void) __attribute__((noreturn));

#endif
