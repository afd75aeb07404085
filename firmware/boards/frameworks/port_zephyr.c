/* Port for any board with Zephyr. It uses the UART that the device tree names as console, at the speed that is set
 * there, and the kernel's cycle counter.
 *
 * It was compiled against declarations of the functions that it calls, but never built with Zephyr or run on a board.
 */
#ifdef __ZEPHYR__
#include "agent.h"
#include "health.h"
#include "port.h"

#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/reboot.h>

#ifdef AR_MARK
#error "With Zephyr the firmware cannot set a mark pin. Generate it without --mark."
#endif

uint32_t port_tick_hz;
uint32_t port_reason; /* most chips with Zephyr lose it, so a restart looks like power-on */

static const struct device *const line = DEVICE_DT_GET(DT_CHOSEN(zephyr_console));

void port_init(void)
{
    port_tick_hz = (uint32_t)sys_clock_hw_cycles_per_sec();
    while (!device_is_ready(line)) {
    }
}

uint8_t port_getc(void)
{
    unsigned char byte;
    while (uart_poll_in(line, &byte) != 0) { /* a busy wait, because the FIFO may be only one byte deep */
        health_alive();
    }
    return byte;
}

void port_putc(uint8_t byte) { uart_poll_out(line, byte); }

uint32_t port_ticks(void) { return k_cycle_get_32(); }

uint32_t ar_stack_bytes(void) { return CONFIG_MAIN_STACK_SIZE; }

/* The kernel paints the stack of each thread (CONFIG_INIT_STACKS), so it can count the bytes that were not used. */
uint32_t ar_stack_used(void)
{
    size_t unused = 0;
    return k_thread_stack_space_get(k_current_get(), &unused) == 0 ? CONFIG_MAIN_STACK_SIZE - (uint32_t)unused
                                                                   : 0;
}

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    sys_reboot(SYS_REBOOT_COLD);
}

int main(void)
{
    port_init();
    ar_prepare();
    ar_serve();
}
#else
typedef int arenite_port_zephyr_is_not_used; /* ISO C requires a declaration in every file */
#endif
