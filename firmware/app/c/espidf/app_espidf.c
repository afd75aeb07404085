/* Serial port, counter and sleep of an application with ESP-IDF, which calls app_main().
 *
 * Compiled with ESP-IDF's headers; never run on a board. */
#include "console.h"
#include "port.h"
#include "sensor.h"
#include <esp_cpu.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <sdkconfig.h>

#ifdef ARENITE_USB_SERIAL_JTAG
#include <driver/usb_serial_jtag.h>
#else
#include <driver/uart.h>
#endif

enum { BUFFER_BYTES = 512 };

uint32_t port_tick_hz;
static uint32_t has_port;
int main(void);

void app_main(void) { main(); }

void port_init(void) { port_tick_hz = CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ * 1000000u; }

uint32_t port_ticks(void) { return esp_cpu_get_cycle_count(); }

#ifdef ARENITE_USB_SERIAL_JTAG
void console_port_init(void)
{
    port_init();
    usb_serial_jtag_driver_config_t settings = {.tx_buffer_size = BUFFER_BYTES,
                                                .rx_buffer_size = BUFFER_BYTES};
    has_port = usb_serial_jtag_driver_install(&settings) == ESP_OK;
}

uint32_t console_port_put(uint8_t byte) { return has_port && usb_serial_jtag_write_bytes(&byte, 1, 0) == 1; }

uint32_t console_port_get(uint8_t *byte) { return has_port && usb_serial_jtag_read_bytes(byte, 1, 0) == 1; }
#else
void console_port_init(void)
{
    port_init();
    const uart_config_t settings = {
        .baud_rate = ARENITE_BAUD,
        .data_bits = UART_DATA_8_BITS,
        .parity = UART_PARITY_DISABLE,
        .stop_bits = UART_STOP_BITS_1,
        .flow_ctrl = UART_HW_FLOWCTRL_DISABLE,
        .source_clk = UART_SCLK_DEFAULT,
    };
    has_port = uart_driver_install(UART_NUM_0, BUFFER_BYTES, BUFFER_BYTES, 0, NULL, 0) == ESP_OK &&
               uart_param_config(UART_NUM_0, &settings) == ESP_OK;
}

/* The driver's buffer takes a byte at once if there is room; uart_write_bytes would wait. */
uint32_t console_port_put(uint8_t byte)
{
    size_t room = 0;
    if (!has_port || uart_get_tx_buffer_free_size(UART_NUM_0, &room) != ESP_OK || room < 64) {
        return 0; /* an entry of the buffer has a header */
    }
    return uart_write_bytes(UART_NUM_0, &byte, 1) == 1;
}

uint32_t console_port_get(uint8_t *byte) { return has_port && uart_read_bytes(UART_NUM_0, byte, 1, 0) == 1; }
#endif

void sensor_wait(void) { vTaskDelay(1); }
