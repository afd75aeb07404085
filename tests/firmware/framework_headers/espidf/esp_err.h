/* A stand-in for esp_err.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include <stdint.h>
typedef int esp_err_t;
#define ESP_OK 0
/* Called if a function returned an error; never returns. */
void abort_on(esp_err_t error, const char *file, int line);
#define ESP_ERROR_CHECK(expression)               \
    do {                                          \
        const esp_err_t error_ = (expression);    \
        if (error_ != ESP_OK) {                   \
            abort_on(error_, __FILE__, __LINE__); \
        }                                         \
    } while (0)
