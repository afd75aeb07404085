/* For tests: the part of ESP-IDF's header that our code uses. The names and values are those of ESP-IDF. */
#ifndef ESP_ERR_H
#define ESP_ERR_H

typedef int esp_err_t;
enum {
    ESP_OK = 0,
    ESP_FAIL = -1,
    ESP_ERR_INVALID_ARG = 0x102,
    ESP_ERR_INVALID_SIZE = 0x104,
    ESP_ERR_NOT_FOUND = 0x105
};

#endif
