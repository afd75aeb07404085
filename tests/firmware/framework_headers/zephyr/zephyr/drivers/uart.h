/* A stand-in for zephyr/drivers/uart.h of Zephyr, with the declarations that Arenite's code for Zephyr uses. */
#pragma once
#include <zephyr/device.h>
int uart_poll_in(const struct device *dev, unsigned char *p_char);
void uart_poll_out(const struct device *dev, unsigned char out_char);
