/* A stand-in for soc/uart_pins.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#define U0RXD_GPIO_NUM 20
#define U0TXD_GPIO_NUM 21
