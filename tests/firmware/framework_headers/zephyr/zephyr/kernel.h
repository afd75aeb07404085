/* A stand-in for zephyr/kernel.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifndef CONFIG_MAIN_STACK_SIZE
#define CONFIG_MAIN_STACK_SIZE 1840
#endif
typedef struct k_thread *k_tid_t;
uint32_t k_cycle_get_32(void);
int sys_clock_hw_cycles_per_sec(void);
k_tid_t k_current_get(void);
int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused_ptr);
struct k_timer {
    void (*expiry_fn)(struct k_timer *timer);
    void (*stop_fn)(struct k_timer *timer);
};
typedef struct {
    int64_t ticks;
} k_timeout_t;
#define K_NO_WAIT ((k_timeout_t){0})
#define K_SECONDS(s) ((k_timeout_t){(int64_t)(s)*1000}) /* a tick is a millisecond here */
#define K_TIMER_DEFINE(name, expiry, stop) struct k_timer name = {expiry, stop}
void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
void k_timer_stop(struct k_timer *timer);
