/* Runs a classifier on all samples on a Cortex-M4F in QEMU, and prints each answer and the instructions.
 *
 * The classifier is one function, so that all engines are linked with the same program. SysTick counts the core's
 * clock; with -icount shift=6 an instruction takes 1.6 ticks of it. */
#include <stdint.h>

#define HARNESS
#include "samples.h"

void prepare(
    const sample_type *features); /* copies features to where the program would write them; is not counted */
int classify(const sample_type *features);
int main(void);

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define CPACR (*(volatile uint32_t *)0xE000ED88u)

/* Operations of semihosting. */
#define SYS_WRITE0 4
#define SYS_EXIT 0x18
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

static void semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(uint32_t value, char end)
{
    char text[12], *at = text + sizeof text;
    *--at = 0;
    *--at = end;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    semihost(SYS_WRITE0, at);
}

/* Takes only the time of a call, which is subtracted. */
__attribute__((noinline)) static int nothing(const sample_type *features)
{
    __asm__ volatile("" ::"r"(features));
    return 0;
}

static uint32_t ticks(int (*function)(const sample_type *), const sample_type *features, int *answer)
{
    const uint32_t before = SYST_CVR;
    *answer = function(features);
    return (before - SYST_CVR) & 0xFFFFFFu;
}

int main(void)
{
    int answer;
    SYST_RVR = 0xFFFFFFu;
    SYST_CVR = 0;
    SYST_CSR = 5; /* on, with the clock of the core, without interrupts */
    for (uint32_t k = 0; k < SAMPLES; k++) {
        prepare(samples[k]);
        const uint32_t call = ticks(nothing, samples[k], &answer);
        const uint32_t spent = ticks(classify, samples[k], &answer) - call;
        print((uint32_t)answer, ' ');
        print(spent, '\n');
    }
    semihost(SYS_EXIT, (const void *)ADP_STOPPED_APPLICATION_EXIT);
    return 0;
}

void reset(void)
{
    CPACR |= 0xF << 20; /* the FPU is on */
    for (uint32_t *to = &data_start, *from = &data_load; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *at = &bss_start; at < &bss_end;) {
        *at++ = 0;
    }
    main();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) const void *const vectors[] = {&stack_top, (const void *)reset};
