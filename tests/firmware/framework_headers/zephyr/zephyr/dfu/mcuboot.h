/* A stand-in for zephyr/dfu/mcuboot.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
#include <stdbool.h>
bool boot_is_img_confirmed(void);
int boot_write_img_confirmed(void);
