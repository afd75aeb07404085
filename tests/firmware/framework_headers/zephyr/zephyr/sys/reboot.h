/* A stand-in for zephyr/sys/reboot.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
#define SYS_REBOOT_WARM 0
#define SYS_REBOOT_COLD 1
void sys_reboot(int type) __attribute__((__noreturn__));
