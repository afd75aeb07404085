/* A stand-in for driver/usb_serial_jtag.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include "esp_err.h"
#include "freertos/FreeRTOS.h"
typedef struct {
    uint32_t tx_buffer_size;
    uint32_t rx_buffer_size;
    int intr_priority;
} usb_serial_jtag_driver_config_t;
esp_err_t usb_serial_jtag_driver_install(usb_serial_jtag_driver_config_t *usb_serial_jtag_config);
int usb_serial_jtag_read_bytes(void *buf, uint32_t length, uint32_t ticks_to_wait);
int usb_serial_jtag_write_bytes(const void *src, size_t size, uint32_t ticks_to_wait);
esp_err_t usb_serial_jtag_wait_tx_done(uint32_t ticks_to_wait);
