/* A stand-in for zephyr/fatal.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
struct arch_esf;
void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf);
