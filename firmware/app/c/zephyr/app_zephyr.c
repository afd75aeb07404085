/* Serial port, counter and sleep of an application with Zephyr. The port is the console's UART; an interrupt moves bytes
 * between it and two buffers.
 *
 * Never compiled with Zephyr's headers, never run on a board. */
#include "console.h"
#include "port.h"
#include "sensor.h"
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>

enum { BYTES = 128 }; /* a power of two */

uint32_t port_tick_hz;
static const struct device *const uart = DEVICE_DT_GET(DT_CHOSEN(zephyr_console));
static volatile uint8_t to_send[BYTES], received[BYTES];
static volatile uint32_t queued, sent, arrived, taken;

void port_init(void) { port_tick_hz = sys_clock_hw_cycles_per_sec(); }

uint32_t port_ticks(void) { return k_cycle_get_32(); }

static void serve(const struct device *device, void *context)
{
    (void)context;
    uint8_t byte;
    while (uart_irq_update(device) && uart_irq_is_pending(device)) {
        if (uart_irq_rx_ready(device)) {
            while (uart_fifo_read(device, &byte, 1) == 1) {
                if (arrived - taken < BYTES) {
                    received[arrived % BYTES] = byte;
                    arrived++;
                }
            }
        }
        if (uart_irq_tx_ready(device)) {
            byte = to_send[sent % BYTES];
            if (sent == queued) {
                uart_irq_tx_disable(device);
            } else if (uart_fifo_fill(device, &byte, 1) == 1) {
                sent++;
            }
        }
    }
}

void console_port_init(void)
{
    port_init();
    if (device_is_ready(uart) && uart_irq_callback_user_data_set(uart, serve, NULL) == 0) {
        uart_irq_rx_enable(uart);
    }
}

uint32_t console_port_put(uint8_t byte)
{
    if (queued - sent >= BYTES) {
        return 0;
    }
    to_send[queued % BYTES] = byte;
    queued++;
    uart_irq_tx_enable(uart);
    return 1;
}

uint32_t console_port_get(uint8_t *byte)
{
    if (arrived == taken) {
        return 0;
    }
    *byte = received[taken % BYTES];
    taken++;
    return 1;
}

void sensor_wait(void) { k_msleep(1); }
