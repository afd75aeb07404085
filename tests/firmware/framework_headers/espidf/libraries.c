/* A stand-in for ESP-IDF's libraries. It defines every symbol that the port uses, and a start function in instruction
 * RAM, where the bootloader starts an application. It is linked but never run. */
#include "driver/uart.h"
#include "driver/usb_serial_jtag.h"
#include "esp_attr.h"
#include "esp_cpu.h"
#include "esp_rom_sys.h"
#include "esp_system.h"
#include "esp_task_wdt.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

void app_main(void);
void call_start_cpu0(void);

static volatile uint32_t started = 0x12345678u; /* initialized data, as every real application has */

void IRAM_ATTR call_start_cpu0(void)
{
    started++;
    app_main();
}

void abort_on(esp_err_t error, const char *file, int line)
{
    (void)error, (void)file, (void)line;
    for (;;) {
    }
}
esp_cpu_cycle_count_t esp_cpu_get_cycle_count(void) { return 0; }
int esp_cpu_get_core_id(void) { return 0; }
uint32_t esp_rom_get_cpu_ticks_per_us(void) { return 160; }
esp_reset_reason_t esp_reset_reason(void) { return ESP_RST_POWERON; }
void esp_restart(void)
{
    abort_on(0, 0, 0);
    __builtin_unreachable();
}
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task) { return task != 0; }
esp_err_t uart_driver_install(uart_port_t p, int r, int t, int q, QueueHandle_t *h, int f)
{
    return (int)p + r + t + q + f + (h != 0);
}
esp_err_t uart_param_config(uart_port_t p, const uart_config_t *c) { return (int)p + c->baud_rate; }
esp_err_t uart_set_pin(uart_port_t p, int t, int r, int rts, int cts) { return (int)p + t + r + rts + cts; }
int uart_read_bytes(uart_port_t p, void *b, uint32_t n, uint32_t w) { return (int)(p + n + w) + (b != 0); }
int uart_write_bytes(uart_port_t p, const void *s, size_t n) { return (int)(p + n) + (s != 0); }
esp_err_t uart_wait_tx_done(uart_port_t p, uint32_t w) { return (int)(p + w); }
esp_err_t usb_serial_jtag_driver_install(usb_serial_jtag_driver_config_t *c)
{
    return (int)c->rx_buffer_size;
}
int usb_serial_jtag_read_bytes(void *b, uint32_t n, uint32_t w) { return (int)(n + w) + (b != 0); }
int usb_serial_jtag_write_bytes(const void *s, size_t n, uint32_t w) { return (int)(n + w) + (s != 0); }
esp_err_t usb_serial_jtag_wait_tx_done(uint32_t w) { return (int)w; }
esp_err_t esp_task_wdt_add(TaskHandle_t t) { return t != 0; }
esp_err_t esp_task_wdt_reset(void) { return ESP_OK; }
esp_err_t esp_task_wdt_delete(TaskHandle_t t) { return t != 0; }
void vTaskDelay(TickType_t ticks) { (void)ticks; }
TaskHandle_t xTaskGetCurrentTaskHandle(void) { return 0; }
UBaseType_t uxTaskPriorityGet(TaskHandle_t t) { return t != 0; }
BaseType_t xTaskCreatePinnedToCore(TaskFunction_t c, const char *n, uint32_t s, void *a, UBaseType_t p,
                                   TaskHandle_t *h, BaseType_t core)
{
    return (c != 0) + (n != 0) + (int)s + (a != 0) + (int)p + (h != 0) + core;
}
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait) { return (uint32_t)clear + wait; }
BaseType_t xTaskNotifyGive(TaskHandle_t t) { return t != 0; }
TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t c, const char *n, uint32_t s, void *a,
                                           UBaseType_t p, StackType_t *stack, StaticTask_t *t,
                                           BaseType_t core)
{
    (void)c, (void)n, (void)s, (void)a, (void)p, (void)stack, (void)t, (void)core;
    return 0;
}
TickType_t xTaskGetTickCount(void) { return 0; }
BaseType_t xPortGetCoreID(void) { return 0; }
esp_err_t esp_task_wdt_init(const esp_task_wdt_config_t *c) { return (int)c->timeout_ms; }
esp_err_t esp_task_wdt_reconfigure(const esp_task_wdt_config_t *c) { return (int)c->timeout_ms; }
