/* A stand-in for the part of the Pico SDK that the port for RP2040 and RP2350 uses. The second core is a thread. */
#include <stddef.h>
#include <stdint.h>

void multicore_reset_core1(void);
void multicore_launch_core1_with_stack(void (*entry)(void), uint32_t *stack_bottom, size_t stack_size_bytes);
