/* Serial port, counter and sleep of an application with the Pico SDK: UART 0 on GP0 and GP1.
 *
 * Compiled with the SDK's headers; never run on a board. */
#include "console.h"
#include "port.h"
#include "sensor.h"
#include <hardware/gpio.h>
#include <hardware/timer.h>
#include <hardware/uart.h>
#include <pico/time.h>

void port_init(void) {}

uint32_t port_ticks(void) { return time_us_32(); }

void console_port_init(void)
{
    port_init();
    uart_init(uart0, ARENITE_BAUD);
    gpio_set_function(0, GPIO_FUNC_UART);
    gpio_set_function(1, GPIO_FUNC_UART);
}

uint32_t console_port_put(uint8_t byte)
{
    if (!uart_is_writable(uart0)) {
        return 0;
    }
    uart_get_hw(uart0)->dr = byte;
    return 1;
}

uint32_t console_port_get(uint8_t *byte)
{
    if (!uart_is_readable(uart0)) {
        return 0;
    }
    *byte = (uint8_t)uart_get_hw(uart0)->dr;
    return 1;
}

static int64_t wake(alarm_id_t id, void *context)
{
    (void)id;
    (void)context;
    return 0;
}

void sensor_wait(void)
{
    if (add_alarm_in_us(1000, wake, 0, true) > 0) {
        __asm volatile("wfi");
    }
}
