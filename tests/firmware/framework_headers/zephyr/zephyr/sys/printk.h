/* A stand-in for zephyr/sys/printk.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
__attribute__((__format__(__printf__, 1, 2))) void printk(const char *fmt, ...);
