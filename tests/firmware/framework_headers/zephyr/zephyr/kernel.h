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
