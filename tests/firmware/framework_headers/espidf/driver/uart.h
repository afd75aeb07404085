/* A stand-in for driver/uart.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include "esp_err.h"
#include "freertos/FreeRTOS.h"
typedef enum { UART_NUM_0, UART_NUM_1, UART_NUM_MAX } uart_port_t;
typedef enum { UART_DATA_5_BITS, UART_DATA_6_BITS, UART_DATA_7_BITS, UART_DATA_8_BITS } uart_word_length_t;
typedef enum { UART_STOP_BITS_1 = 1, UART_STOP_BITS_1_5, UART_STOP_BITS_2 } uart_stop_bits_t;
typedef enum { UART_PARITY_DISABLE, UART_PARITY_EVEN = 2, UART_PARITY_ODD } uart_parity_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE, UART_HW_FLOWCTRL_RTS } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_APB = 4, UART_SCLK_DEFAULT = 4 } uart_sclk_t;
typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uint8_t rx_flow_ctrl_thresh;
    uint32_t rx_glitch_filt_thresh;
    union {
        uart_sclk_t source_clk;
    };
    struct {
        uint32_t allow_pd : 1;
        uint32_t backup_before_sleep : 1;
    } flags;
} uart_config_t;
typedef struct QueueDefinition *QueueHandle_t;
#define UART_PIN_NO_CHANGE (-1)
esp_err_t uart_driver_install(uart_port_t uart_num, int rx_buffer_size, int tx_buffer_size, int queue_size,
                              QueueHandle_t *uart_queue, int intr_alloc_flags);
esp_err_t uart_param_config(uart_port_t uart_num, const uart_config_t *uart_config);
esp_err_t uart_set_pin(uart_port_t uart_num, int tx_io_num, int rx_io_num, int rts_io_num, int cts_io_num);
int uart_read_bytes(uart_port_t uart_num, void *buf, uint32_t length, uint32_t ticks_to_wait);
int uart_write_bytes(uart_port_t uart_num, const void *src, size_t size);
esp_err_t uart_wait_tx_done(uart_port_t uart_num, uint32_t ticks_to_wait);
