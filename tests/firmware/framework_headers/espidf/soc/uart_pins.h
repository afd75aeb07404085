#pragma once
#define U0RXD_GPIO_NUM 20
#define U0TXD_GPIO_NUM 21
