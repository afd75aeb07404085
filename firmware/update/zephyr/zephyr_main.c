/* A Zephyr application that runs one model. After its start it tests the model. If MCUboot runs the image on trial, it
 * confirms the image only if the test passes, and otherwise restarts, so that MCUboot returns to the old image. Zephyr's
 * own mcumgr takes new images over the serial port, in a thread with a lower priority than this one: it does not answer
 * before the image is confirmed. */
#include "program.h"
#include "self_test.h"

#include <zephyr/dfu/mcuboot.h>
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <zephyr/sys/reboot.h>

/* One layer of a model on trial may take so long. */
enum { LAYER_SECONDS = 8 };

extern const ar_model model;
extern const ar_golden golden;

static bool is_trial;

/* The timer expires in an interrupt, so it also ends a layer that never does. */
static void restart(struct k_timer *timer)
{
    (void)timer;
    sys_reboot(SYS_REBOOT_COLD);
}

K_TIMER_DEFINE(trial, restart, NULL);

static void alive(void)
{
    if (is_trial) {
        k_timer_start(&trial, K_SECONDS(LAYER_SECONDS), K_NO_WAIT);
    }
}

/* Zephyr calls this after a crash, and would stop the chip: MCUboot would not return to the old image. */
void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf)
{
    (void)reason;
    (void)esf;
    sys_reboot(SYS_REBOOT_COLD);
}

static void print_hex(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        printk("%02x", (unsigned int)bytes[i]);
    }
}

static void report(uint32_t result)
{
    static const uint8_t graph[] = PROGRAM_GRAPH;
    printk("board " PROGRAM_BOARD "\ngraph ");
    print_hex(graph, sizeof graph);
    printk("\nmodel ");
    print_hex(model.hash, sizeof model.hash);
    printk(" %s\nself-test ", model.name);
    if (result == AR_SELF_TEST_PASSED) {
        printk("%u samples passed\n", (unsigned int)golden.count);
    } else {
        printk("failed with %u\n", (unsigned int)result);
    }
}

int main(void)
{
    is_trial = !boot_is_img_confirmed();
    alive();
    const uint32_t result = ar_self_test(&model, &golden, alive);
    report(result);
    if (!is_trial) {
        return 0;
    }
    if (result != AR_SELF_TEST_PASSED || boot_write_img_confirmed() != 0) {
        printk("update returned\n");
        sys_reboot(SYS_REBOOT_COLD);
    }
    k_timer_stop(&trial);
    printk("update confirmed\n");
    return 0;
}
