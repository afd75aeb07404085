/* Port for any ESP32 with ESP-IDF. It uses UART0 or the chip's own USB serial port, and the cycle counter of the core.
 *
 * It was compiled against declarations of the functions that it calls, and linked for the memory map of an ESP32-C3,
 * but never run on a board.
 */
#if defined(ESP_PLATFORM) && !defined(ARDUINO) /* the Arduino core for ESP32 has a port of its own */
#ifndef AR_UPDATE_PARTITIONS
#include "agent.h"
#endif
#include "health.h"
#include "port.h"
#ifdef AR_HEALTH
#include "esp_task_wdt.h"
#endif

#include "esp_cpu.h"
#include "esp_rom_sys.h"
#include "esp_system.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "sdkconfig.h"
#ifdef AR_MARK
#include "driver/gpio.h"
#endif
#ifdef ARENITE_USB_SERIAL_JTAG
#include "driver/usb_serial_jtag.h"
#else
#include "driver/uart.h"
#include "soc/uart_pins.h"
#endif

#if defined(AR_MLPERF_ENERGY) || !defined(ARENITE_BAUD)
#undef ARENITE_BAUD
#define ARENITE_BAUD PORT_BAUD
#endif
/* With a watchdog the wait for the host is interrupted regularly, to feed it. */
#ifdef AR_HEALTH
#define MAX_WAIT pdMS_TO_TICKS(1000)
#else
#define MAX_WAIT portMAX_DELAY
#endif
#define RX_BYTES 1024 /* more than three frames: the host sends one and waits */

uint32_t port_tick_hz;
uint32_t port_reason;

/* Bytes from the driver that port_getc has not returned yet: the driver is read in blocks, not byte by byte. */
static uint8_t received[64];
static int32_t received_bytes, received_at;

/* The serial line. open_line initializes it. read_line reads up to `bytes` bytes to `received`, waits for them for at
 * most `wait` ticks, and returns their number, or -1 after an error. drain_line waits until all bytes are sent. */
#ifdef ARENITE_USB_SERIAL_JTAG
static void open_line(void)
{
    usb_serial_jtag_driver_config_t config = {.tx_buffer_size = RX_BYTES, .rx_buffer_size = RX_BYTES};
    ESP_ERROR_CHECK(usb_serial_jtag_driver_install(&config));
}

static int32_t read_line(uint32_t bytes, TickType_t wait)
{
    return usb_serial_jtag_read_bytes(received, bytes, wait);
}

void port_putc(uint8_t byte)
{
    while (usb_serial_jtag_write_bytes(&byte, 1, portMAX_DELAY) != 1) {
    }
}

static void drain_line(void) { (void)usb_serial_jtag_wait_tx_done(pdMS_TO_TICKS(100)); }
#else
static void open_line(void)
{
    const uart_config_t config = {
        .baud_rate = ARENITE_BAUD,
        .data_bits = UART_DATA_8_BITS,
        .parity = UART_PARITY_DISABLE,
        .stop_bits = UART_STOP_BITS_1,
        .flow_ctrl = UART_HW_FLOWCTRL_DISABLE,
        .source_clk = UART_SCLK_DEFAULT,
    };
    ESP_ERROR_CHECK(uart_driver_install(UART_NUM_0, RX_BYTES, 0, 0, NULL, 0));
    ESP_ERROR_CHECK(uart_param_config(UART_NUM_0, &config));
    ESP_ERROR_CHECK(
        uart_set_pin(UART_NUM_0, U0TXD_GPIO_NUM, U0RXD_GPIO_NUM, UART_PIN_NO_CHANGE, UART_PIN_NO_CHANGE));
}

static int32_t read_line(uint32_t bytes, TickType_t wait)
{
    return uart_read_bytes(UART_NUM_0, received, bytes, wait);
}

void port_putc(uint8_t byte) { (void)uart_write_bytes(UART_NUM_0, &byte, 1); }

static void drain_line(void) { (void)uart_wait_tx_done(UART_NUM_0, pdMS_TO_TICKS(100)); }
#endif

uint8_t port_getc(void)
{
    while (received_at >= received_bytes) {
        received_at = 0;
        received_bytes = read_line(sizeof received, 0);
        if (received_bytes <= 0) { /* no byte has arrived: wait for one, and let other tasks run */
            received_bytes = read_line(1, MAX_WAIT);
            health_alive();
        }
    }
    return received[received_at++];
}

uint32_t port_ticks(void) { return esp_cpu_get_cycle_count(); }

#ifdef AR_MARK
void port_mark(uint32_t on) { (void)gpio_set_level((gpio_num_t)ar_mark_pin, on); }
#endif

static uint32_t reason_of_start(void)
{
    switch (esp_reset_reason()) {
    case ESP_RST_SW:
        return PORT_REQUESTED;
    case ESP_RST_PANIC:
    case ESP_RST_CPU_LOCKUP:
    case ESP_RST_INT_WDT:
    case ESP_RST_TASK_WDT:
    case ESP_RST_WDT:
        return PORT_FAULT;
    default:
        return PORT_POWER_ON;
    }
}

#ifdef AR_HEALTH
const uint32_t port_watchdog_ms = 8000;

void port_watchdog_start(void)
{
    const esp_task_wdt_config_t config = {
        .timeout_ms = port_watchdog_ms, .idle_core_mask = 0, .trigger_panic = true};
    if (esp_task_wdt_reconfigure(&config) !=
        ESP_OK) { /* the project's settings have not started the watchdog */
        ESP_ERROR_CHECK(esp_task_wdt_init(&config));
    }
    ESP_ERROR_CHECK(esp_task_wdt_add(NULL));
}

void port_watchdog_feed(void) { (void)esp_task_wdt_reset(); }

uint32_t port_reset_cause(uint32_t *word)
{
    const esp_reset_reason_t reason = esp_reset_reason();
    *word = (uint32_t)reason;
    switch (reason) {
    case ESP_RST_PANIC:
    case ESP_RST_CPU_LOCKUP:
        return HEALTH_FAULT;
    case ESP_RST_INT_WDT:
    case ESP_RST_TASK_WDT:
    case ESP_RST_WDT:
        return HEALTH_WATCHDOG;
    case ESP_RST_POWERON:
        return HEALTH_POWER_ON;
    case ESP_RST_BROWNOUT:
    case ESP_RST_PWR_GLITCH:
        return HEALTH_BROWN_OUT;
    case ESP_RST_EXT:
    case ESP_RST_USB: /* esptool resets in this way after it has written over the chip's own USB */
    case ESP_RST_JTAG:
        return HEALTH_PIN;
    case ESP_RST_SW:
        return HEALTH_SOFTWARE;
    default:
        return HEALTH_OTHER;
    }
}
#endif

void port_init(void)
{
    port_reason = PORT_REASON_MAGIC | reason_of_start();
    port_tick_hz = esp_rom_get_cpu_ticks_per_us() * 1000000u;
#ifdef AR_MARK
    ESP_ERROR_CHECK(gpio_reset_pin((gpio_num_t)ar_mark_pin));
    ESP_ERROR_CHECK(gpio_set_direction((gpio_num_t)ar_mark_pin, GPIO_MODE_OUTPUT));
    port_mark(0);
#endif
    open_line();
}

#ifndef AR_UPDATE_PARTITIONS
/* The stack is that of the main task. FreeRTOS paints it when it creates the task. On these chips,
 * uxTaskGetStackHighWaterMark returns the number of bytes that were never used; on others it counts words. */
uint32_t ar_stack_bytes(void) { return CONFIG_ESP_MAIN_TASK_STACK_SIZE; }

uint32_t ar_stack_used(void) { return CONFIG_ESP_MAIN_TASK_STACK_SIZE - uxTaskGetStackHighWaterMark(NULL); }
#endif

void port_restart(uint32_t reason)
{
    (void)reason; /* the chip itself stores the reason */
    drain_line();
    esp_restart();
}

#ifdef AR_UPDATE_PARTITIONS /* update_main.c */
int main(void);

void app_main(void) { main(); }
#else
void app_main(void)
{
    port_init();
    ar_prepare();
    ar_serve();
}
#endif
#else
typedef int arenite_port_espidf_is_not_used; /* ISO C requires a declaration in every file */
#endif
