/* Start-up of the boot loader on a Cortex-M, and the jump to the firmware. */
#include "loader.h"
#include "loader_functions.h"
#include "start_memory.h"
#include "update_layout.h"

int main(void);
void ar_start(void) __attribute__((noreturn));

#define SCB_VTOR (*(volatile uint32_t *)0xE000ED08u)
#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)

void port_restart(uint32_t reason)
{
    (void)reason;            /* no one reads it: the firmware has a word of its own */
    SCB_AIRCR = 0x05FA0004u; /* VECTKEY, SYSRESETREQ */
    for (;;) {
    }
}

static void __attribute__((noreturn, used)) fault(void) { port_restart(PORT_FAULT); }

void ar_start(void)
{
    prepare_memory();
    main();
    fault(); /* main() never returns */
}

void loader_run(uint32_t vectors)
{
    const volatile uint32_t *table = (const volatile uint32_t *)(uintptr_t)vectors;
#ifdef AR_LOADER_VTOR
    SCB_VTOR = vectors;
#endif
    const uint32_t stack = table[0], start = table[1];
    __asm__ volatile("msr msp, %0\n"
                     "dsb\n"
                     "isb\n"
                     "bx %1\n" ::"r"(stack),
                     "r"(start)
                     : "memory");
    __builtin_unreachable();
}

#ifdef AR_LOADER_VTOR
/* The loader enables no interrupt. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
    uint32_t unused[LOADER_TABLE_WORD - 4];
    const loader_functions *functions;
} vectors = {ar_stack_top, {ar_start, fault, fault}, {0}, &LOADER_FUNCTIONS};
#else
/* A Cortex-M0 takes every vector from the table at address 0, which is the loader's. So the loader passes exceptions on
 * to the firmware's handler. The loader enables no interrupt: all interrupts are the firmware's. A HardFault or NMI is
 * the firmware's if it interrupted code behind the loader. r0 to r3 are free, because the core has saved them. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static void __attribute__((naked, used)) pass_on(void)
{
    __asm__ volatile(".syntax unified\n"
                     "mrs r0, ipsr\n"
                     "lsls r0, r0, #2\n"
                     "ldr r1, 1f\n"
                     "ldr r0, [r0, r1]\n"
                     "bx r0\n"
                     ".align 2\n"
                     "1: .word " TEXT(AR_UPDATE_FIRMWARE_0_AT) " + " TEXT(AR_UPDATE_FIRMWARE_HEADER) "\n");
}

static void __attribute__((naked, used)) pass_on_fault(void)
{
    __asm__ volatile(".syntax unified\n"
                     "mov r0, lr\n"
                     "movs r1, #4\n"
                     "tst r0, r1\n"
                     "mrs r2, msp\n"
                     "beq 1f\n"
                     "mrs r2, psp\n"
                     "1: ldr r2, [r2, #24]\n" /* where the exception happened */
                     "ldr r1, 2f\n"
                     "cmp r2, r1\n"
                     "bhs 4f\n"
                     "ldr r0, 3f\n"
                     "bx r0\n"
                     "4: ldr r0, 5f\n"
                     "bx r0\n"
                     ".align 2\n"
                     "2: .word " TEXT(AR_UPDATE_FIRMWARE_0_AT) "\n"
                                                               "3: .word fault\n"
                                                               "5: .word pass_on\n");
}

#define PASS_ON_8 pass_on, pass_on, pass_on, pass_on, pass_on, pass_on, pass_on, pass_on
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
    uint32_t unused[LOADER_TABLE_WORD - 4];
    const loader_functions *functions;
    void (*more[48 - 1 - LOADER_TABLE_WORD])(void);
} vectors = {ar_stack_top,
             {ar_start, pass_on_fault, pass_on_fault},
             {0},
             &LOADER_FUNCTIONS,
             {0, 0, pass_on, 0, 0, pass_on, pass_on, PASS_ON_8, PASS_ON_8, PASS_ON_8, PASS_ON_8}};
#endif
