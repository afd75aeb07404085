/* The flash memory and the registers at their real addresses in this process. They cannot be accessed: each access raises
 * a signal, the instruction then runs alone, and the model does what the controller does. */
#define _GNU_SOURCE
#include "controller.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, WAS_WRITE = 2 };

static const uintptr_t register_pages[] = REGISTER_PAGES;
enum { REGISTER_PAGE_COUNT = sizeof register_pages / sizeof register_pages[0] };

static struct {
    uintptr_t at;
    uint32_t is_write, is_register, old;
} access_now;

uint8_t *memory(void) { return (uint8_t *)(uintptr_t)APP_FLASH_ADDRESS; }

static uintptr_t host_page(uintptr_t at) { return at & ~(uintptr_t)(HOST_PAGE - 1); }

static void protect(uintptr_t page, int how)
{
    if (mprotect((void *)page, HOST_PAGE, how)) {
        fail("mprotect");
    }
}

static void protect_all(int how)
{
    const uintptr_t first = host_page(APP_FLASH_ADDRESS);
    if (mprotect((void *)first, host_page(APP_FLASH_ADDRESS + BYTES - 1) + HOST_PAGE - first, how)) {
        fail("mprotect");
    }
}

void hide_memory(void) { protect_all(PROT_NONE); }

static void protect_registers(int how)
{
    for (uint32_t k = 0; k < REGISTER_PAGE_COUNT; k++) {
        protect(register_pages[k], how);
    }
}

static uint32_t is_register(uintptr_t at)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < REGISTER_PAGE_COUNT; k++) {
        found |= host_page(at) == register_pages[k];
    }
    return found;
}

void open_registers(void) { protect_registers(PROT_READ | PROT_WRITE); }

void close_registers(void) { protect_registers(PROT_NONE); }

void unlock_memory(void) { protect_all(PROT_READ | PROT_WRITE); }

void open_page(uintptr_t at) { protect(host_page(at), PROT_READ | PROT_WRITE); }

void close_page(uintptr_t at)
{
    const uintptr_t page = host_page(at);
    int how = PROT_READ;
    for (uint32_t k = 0; k < HOST_PAGE && HAS_CHECK_BITS; k += UNIT) {
        const uintptr_t offset = page + k - APP_FLASH_ADDRESS; /* wraps below the region */
        if (offset < BYTES && model.is_damaged[offset / UNIT]) {
            how = PROT_NONE;
        }
    }
    protect(page, how);
}

void close_memory(void)
{
    protect_all(PROT_READ);
    for (uint32_t unit = 0; unit < BYTES / UNIT; unit++) {
        if (model.is_damaged[unit]) {
            protect(host_page(APP_FLASH_ADDRESS + unit * UNIT), PROT_NONE);
        }
    }
    close_registers();
}

static void on_access(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal;
    access_now.at = (uintptr_t)info->si_addr;
    access_now.is_write = (c->uc_mcontext.gregs[REG_ERR] & WAS_WRITE) != 0;
    access_now.is_register = is_register(access_now.at);
    if (!access_now.is_register &&
        (access_now.at < host_page(APP_FLASH_ADDRESS) || access_now.at >= APP_FLASH_ADDRESS + BYTES)) {
        fail("an access at %lx", (unsigned long)access_now.at);
    }
    protect(host_page(access_now.at), PROT_READ | PROT_WRITE);
    if (access_now.is_register && !access_now.is_write) {
        show_register(access_now.at);
    }
    access_now.old = *(uint32_t *)(access_now.at & ~(uintptr_t)3);
    c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG; /* a signal after this instruction */
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal;
    (void)info;
    c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (access_now.is_register) {
        open_registers();
        register_accessed(access_now.at, access_now.is_write, access_now.old);
        close_registers();
        return;
    }
    if (access_now.is_write) {
        const uint32_t new = *(uint32_t *)(access_now.at & ~(uintptr_t)3);
        open_registers();
        word_written(access_now.at, access_now.old, new);
        close_registers();
    } else {
        memory_read(access_now.at);
    }
    close_page(access_now.at);
}

void open_memory(void)
{
    const uintptr_t first = host_page(APP_FLASH_ADDRESS),
                    end = host_page(APP_FLASH_ADDRESS + BYTES - 1) + HOST_PAGE;
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    int is_free = mmap((void *)first, end - first, PROT_READ | PROT_WRITE, how, -1, 0) == (void *)first;
    for (uint32_t k = 0; k < REGISTER_PAGE_COUNT; k++) {
        void *page = (void *)register_pages[k];
        is_free = is_free && mmap(page, HOST_PAGE, PROT_READ | PROT_WRITE, how, -1, 0) == page;
    }
    if (!is_free) {
        fail("the addresses are in use");
    }
    struct sigaction action = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    action.sa_sigaction = on_step;
    sigaction(SIGTRAP, &action, 0);
}

void clear_memory(void)
{
    protect_all(PROT_READ | PROT_WRITE);
    memset(memory(), 0xFF, BYTES);
    memset(model.is_programmed, 0, sizeof model.is_programmed);
    memset(model.is_damaged, 0, sizeof model.is_damaged);
    memset(model.erasures, 0, sizeof model.erasures);
}
