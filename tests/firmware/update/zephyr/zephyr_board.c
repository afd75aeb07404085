/* A chip with MCUboot for zephyr_main.c. The argument `trial` runs the image on trial, `fails` cannot write the
 * confirmation, and `hangs` lets the timer expire when it is first started. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zephyr/dfu/mcuboot.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <zephyr/sys/reboot.h>

int zephyr_main(void);

static int is_trial, fails, hangs, starts, stops;

bool boot_is_img_confirmed(void) { return !is_trial; }

int boot_write_img_confirmed(void)
{
    printf("confirm\n");
    return fails ? -5 : 0;
}

void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period)
{
    if (duration.ticks != 8000 || period.ticks != 0) {
        abort();
    }
    starts++;
    if (hangs) {
        timer->expiry_fn(timer);
    }
}

void k_timer_stop(struct k_timer *timer)
{
    (void)timer;
    stops++;
}

void printk(const char *fmt, ...)
{
    va_list values;
    va_start(values, fmt);
    vprintf(fmt, values);
    va_end(values);
}

void sys_reboot(int type)
{
    printf("reboot %d\n", type);
    exit(3);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        is_trial |= strcmp(argv[i], "trial") == 0;
        fails |= strcmp(argv[i], "fails") == 0;
        hangs |= strcmp(argv[i], "hangs") == 0;
    }
    const int result = zephyr_main();
    printf("starts %d stops %d\n", starts > 0, stops);
    return result;
}
