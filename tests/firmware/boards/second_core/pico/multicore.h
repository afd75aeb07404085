/* A stand-in for as much of the Pico SDK as the port for RP2040 and RP2350 uses: the second core is a thread. */
#include <stddef.h>
#include <stdint.h>

void multicore_reset_core1(void);
void multicore_launch_core1_with_stack(void (*entry)(void), uint32_t *stack_bottom, size_t stack_size_bytes);
