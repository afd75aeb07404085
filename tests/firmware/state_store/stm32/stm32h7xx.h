#include "stm32_model.h"
