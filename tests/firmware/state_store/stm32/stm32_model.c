/* A model of the flash controllers of STM32L4, STM32F4 and STM32H7, below the drivers, and power cuts.
 *
 * The registers and the flash memory are at their real addresses in this process, and cannot be accessed. Each access
 * raises a signal; the instruction then runs alone, and the model does what the controller does. It enforces the rules:
 * the keys, the size and the order of writes, one write of a unit with check bits after an erasure, and no access while
 * an operation runs. Power fails in the operation that `cut_at` numbers: an erasure leaves any content, a unit that is
 * programmed any of its bits, and its check bits may not fit. */
#define _GNU_SOURCE
#include "learning.h"
#include "app_learning.h"
#include "arenite/state_store.h"
#include "stm32_model.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(MODEL_L4)
enum { UNIT = 8, HAS_CHECK_BITS = 1, BUSY_READS = 5 };
#define STATUS FLASH->SR
#define CONTROL FLASH->CR
#define KEY FLASH->KEYR
#elif defined(MODEL_F4)
enum { UNIT = 4, HAS_CHECK_BITS = 0, BUSY_READS = 5 };
#define STATUS FLASH->SR
#define CONTROL FLASH->CR
#define KEY FLASH->KEYR
#else
enum { UNIT = 32, HAS_CHECK_BITS = 1, BUSY_READS = 5 };
#define STATUS FLASH->SR2
#define CONTROL FLASH->CR2
#define KEY FLASH->KEYR2
#define FLASH_CR_STRT FLASH_CR_START
#endif

enum { BYTES = APP_FLASH_PAGE * APP_FLASH_PAGES, HOST_PAGE = 4096, RECORD = 60, SAVES = 6, SESSION = 2 };
enum { TRAP_FLAG = 0x100, WAS_WRITE = 2 };

uint8_t _sidata[16], _sdata[1], _edata[1]; /* a program that ends at a low address */
model_scb model_system;
uint32_t model_faults_are_masked;
void NMI_Handler(void);

static uint8_t is_programmed[BYTES / UNIT], is_damaged[BYTES / UNIT];
static uint32_t erasures[APP_FLASH_PAGES];
static uint32_t busy_reads, keys, latched, latched_at, operations;
static int64_t cut_at;
static uint32_t is_stale; /* the cache of the processor may have old data */
static uint64_t random_state;
static sigjmp_buf power_is_off;
static struct {
    uintptr_t at;
    uint32_t is_write, is_register, old, old_control;
} access_now;

static void fail(const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("FAILED: %s (cut %lld)\n", text, (long long)cut_at);
    fflush(stdout);
    _exit(1);
}

static uint32_t any(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static uint8_t *memory(void) { return (uint8_t *)(uintptr_t)APP_FLASH_ADDRESS; }

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

/* Lets the next access to a page of flash memory raise a signal, if it is a write or the page has a damaged unit. */
static void close_page(uintptr_t page)
{
    int how = PROT_READ;
    for (uint32_t k = 0; k < HOST_PAGE && HAS_CHECK_BITS; k += UNIT) {
        const uintptr_t offset = page + k - APP_FLASH_ADDRESS; /* wraps below the region */
        if (offset < BYTES && is_damaged[offset / UNIT]) {
            how = PROT_NONE;
        }
    }
    protect(page, how);
}

static void close_all(void)
{
    protect_all(PROT_READ);
    for (uint32_t unit = 0; unit < BYTES / UNIT; unit++) {
        if (is_damaged[unit]) {
            protect(host_page(APP_FLASH_ADDRESS + unit * UNIT), PROT_NONE);
        }
    }
    protect(host_page(FLASH_R_BASE), PROT_NONE);
}

static int power_fails_here(void) { return (int64_t)operations++ == cut_at; }

static void erase_page(uint32_t page)
{
    const uint32_t first = page * APP_FLASH_PAGE;
    if (page >= APP_FLASH_PAGES) {
        fail("page %u is erased", page);
    }
    protect_all(PROT_READ | PROT_WRITE);
    erasures[page]++;
    const int is_cut = power_fails_here();
    const uint32_t kind = any() % 4;
    for (uint32_t k = 0; k < APP_FLASH_PAGE; k++) {
        uint8_t *byte = memory() + first + k;
        *byte = !is_cut || kind == 0                            ? 0xFF
                : kind == 1                                     ? (uint8_t)any()
                : kind == 2 && k < (uint32_t)APP_FLASH_PAGE / 2 ? 0xFF
                                                                : (uint8_t)(*byte | any());
    }
    for (uint32_t k = 0; k < APP_FLASH_PAGE / UNIT; k++) {
        is_programmed[first / UNIT + k] = (uint8_t)is_cut; /* it must be erased again */
        is_damaged[first / UNIT + k] = HAS_CHECK_BITS && is_cut && kind == 3 && k == 1;
    }
    close_all();
    if (is_cut) {
        siglongjmp(power_is_off, 1);
    }
    busy_reads = BUSY_READS;
    is_stale = 1;
}

/* The page that the control register names, counted from the first one of the region. */
static uint32_t named_page(uint32_t control)
{
#if defined(MODEL_L4)
    const uint32_t number = (control >> FLASH_CR_PNB_Pos & 255u) + (control & FLASH_CR_BKER ? 256u : 0);
    return number - (APP_FLASH_ADDRESS - 0x08000000u) / APP_FLASH_PAGE;
#elif defined(MODEL_F4)
    static const uint32_t starts[] = {0x00000, 0x04000, 0x08000, 0x0C000, 0x10000, 0x20000,
                                      0x40000, 0x60000, 0x80000, 0xA0000, 0xC0000, 0xE0000};
    const uint32_t sector = control >> FLASH_CR_SNB_Pos & 31u;
    if (sector > 11) {
        fail("sector %u", sector);
    }
    return (0x08000000u + starts[sector] - APP_FLASH_ADDRESS) / APP_FLASH_PAGE;
#else
    return ((control >> FLASH_CR_SNB_Pos & 7u) * 0x20000u + 0x08100000u - APP_FLASH_ADDRESS) / APP_FLASH_PAGE;
#endif
}

static uint32_t erases(uint32_t control)
{
#ifdef MODEL_L4
    return control & FLASH_CR_PER;
#else
    return control & FLASH_CR_SER;
#endif
}

static void control_written(uint32_t old, uint32_t new)
{
    if (busy_reads) {
        fail("the control register is written while an operation runs");
    }
    if (old & FLASH_CR_LOCK) {
        fail("the control register is written while it is locked");
    }
    if (new & FLASH_CR_STRT) {
        if (!erases(new) || new & FLASH_CR_PG) {
            fail("an operation starts that is no erasure: %x", new);
        }
        CONTROL = new & ~(uint32_t)FLASH_CR_STRT;
        erase_page(named_page(new));
    }
}

static void key_written(uint32_t value)
{
    if (value != (keys == 0 ? 0x45670123u : 0xCDEF89ABu) || keys > 1) {
        fail("a wrong key");
    }
    if (++keys == 2) {
        CONTROL &= ~(uint32_t)FLASH_CR_LOCK;
    }
}

/* A word was written to the flash memory. */
static void word_written(uintptr_t at, uint32_t old, uint32_t new)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS), unit = offset / UNIT;
    static uint32_t words[UNIT / 4];
    *(uint32_t *)at = old;
    if (offset >= BYTES || at % 4) {
        fail("a write at offset %u", offset);
    }
    if (CONTROL & FLASH_CR_LOCK || !(CONTROL & FLASH_CR_PG) || erases(CONTROL) || busy_reads) {
        fail("a write without permission");
    }
#if defined(MODEL_F4)
    if ((CONTROL >> 8 & 3u) != 2) {
        fail("a write of another size than PSIZE");
    }
#endif
    if (latched ? offset != latched_at + 4 * latched : offset % UNIT != 0) {
        fail("the words of a unit are not in their order");
    }
    latched_at = latched ? latched_at : offset;
    words[latched++] = new;
    if (latched < UNIT / 4) {
        if (power_fails_here()) {
            siglongjmp(power_is_off, 1);
        }
        return;
    }
    latched = 0;
    if (is_programmed[unit]) {
        fail("unit %u is programmed twice", unit);
    }
    is_programmed[unit] = 1;
    const int is_cut = power_fails_here();
    const uint32_t kind = any() % 3;
    for (uint32_t k = 0; k < UNIT; k++) {
        const uint8_t wanted = ((uint8_t *)words)[k], missing = kind == 0   ? 0
                                                                : kind == 1 ? 0xFF
                                                                            : (uint8_t)any();
        memory()[unit * UNIT + k] &= (uint8_t)(is_cut ? wanted | missing : wanted);
    }
    is_stale = 1;
    if (is_cut) {
        is_damaged[unit] = HAS_CHECK_BITS && kind == 2 && any() % 2;
        siglongjmp(power_is_off, 1);
    }
    busy_reads = BUSY_READS;
}

static void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
{
    const uint32_t value = *(volatile uint32_t *)at;
    if (at == (uintptr_t)&STATUS) {
        if (!is_write) {
            busy_reads -= busy_reads > 0;
        } else {
            STATUS = old & ~value;
        }
    } else if (at == (uintptr_t)&CONTROL && is_write) {
        if (value & FLASH_CR_LOCK) {
            keys = 0;
        }
        control_written(old, value);
    } else if (at == (uintptr_t)&KEY && is_write) {
        key_written(value);
#if defined(MODEL_L4)
    } else if (at == (uintptr_t)&FLASH->ECCR && is_write) {
        FLASH->ECCR = old & ~(value & FLASH_ECCR_ECCD);
#elif !defined(MODEL_F4)
    } else if (at == (uintptr_t)&FLASH->CCR2 && is_write) {
        STATUS &= ~value;
#endif
    }
#if defined(MODEL_L4) || defined(MODEL_F4)
    if (at == (uintptr_t)&FLASH->ACR && is_write && value & FLASH_ACR_DCRST) {
        if (value & FLASH_ACR_DCEN) {
            fail("the cache is reset while it is on");
        }
        is_stale = 0;
    }
#endif
}

/* A page with a damaged unit was read. */
static void memory_read(uintptr_t at)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS);
    if (offset >= BYTES || !is_damaged[offset / UNIT]) {
        return;
    }
#if defined(MODEL_L4)
    protect(host_page(FLASH_R_BASE), PROT_READ | PROT_WRITE);
    FLASH->ECCR |= FLASH_ECCR_ECCD;
    NMI_Handler();
    FLASH->ECCR &= ~FLASH_ECCR_ECCD; /* the handler has written a one */
    protect(host_page(FLASH_R_BASE), PROT_NONE);
#elif !defined(MODEL_F4)
    if (!model_faults_are_masked || !(model_system.CCR & SCB_CCR_BFHFNMIGN_Msk)) {
        fail("a bus fault");
    }
    STATUS |= FLASH_SR_DBECCERR;
#endif
}

static void on_access(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal;
    access_now.at = (uintptr_t)info->si_addr;
    access_now.is_write = (c->uc_mcontext.gregs[REG_ERR] & WAS_WRITE) != 0;
    access_now.is_register = host_page(access_now.at) == host_page(FLASH_R_BASE);
    if (!access_now.is_register &&
        (access_now.at < host_page(APP_FLASH_ADDRESS) || access_now.at >= APP_FLASH_ADDRESS + BYTES)) {
        fail("an access at %lx", (unsigned long)access_now.at);
    }
    protect(host_page(access_now.at), PROT_READ | PROT_WRITE);
    if (access_now.is_register && access_now.at == (uintptr_t)&STATUS && !access_now.is_write) {
        STATUS = busy_reads ? STATUS | FLASH_SR_BSY : STATUS & ~(uint32_t)FLASH_SR_BSY;
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
        register_accessed(access_now.at, access_now.is_write, access_now.old);
        protect(host_page(FLASH_R_BASE), PROT_NONE);
        return;
    }
    if (access_now.is_write) {
        const uint32_t new = *(uint32_t *)(access_now.at & ~(uintptr_t)3);
        protect(host_page(FLASH_R_BASE), PROT_READ | PROT_WRITE);
        word_written(access_now.at, access_now.old, new);
        protect(host_page(FLASH_R_BASE), PROT_NONE);
    } else {
        memory_read(access_now.at);
    }
    close_page(host_page(access_now.at));
}

/* Takes the power away and turns it on again: the controller is locked, and the memory stays. */
static void restart(void)
{
    protect(host_page(FLASH_R_BASE), PROT_READ | PROT_WRITE);
    memset((void *)FLASH_R_BASE, 0, sizeof(FLASH_TypeDef));
    CONTROL = FLASH_CR_LOCK;
#if defined(MODEL_L4) || defined(MODEL_F4)
    FLASH->ACR = FLASH_ACR_DCEN;
#endif
    busy_reads = keys = latched = is_stale = 0;
    model_faults_are_masked = model_system.CCR = 0;
    close_all();
}

static void open_memory(void)
{
    const uintptr_t first = host_page(APP_FLASH_ADDRESS),
                    end = host_page(APP_FLASH_ADDRESS + BYTES - 1) + HOST_PAGE;
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap((void *)first, end - first, PROT_READ | PROT_WRITE, how, -1, 0) != (void *)first ||
        mmap((void *)host_page(FLASH_R_BASE), HOST_PAGE, PROT_READ | PROT_WRITE, how, -1, 0) !=
            (void *)host_page(FLASH_R_BASE)) {
        fail("the addresses are in use");
    }
    struct sigaction action = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    action.sa_sigaction = on_step;
    sigaction(SIGTRAP, &action, 0);
}

static void clear_memory(void)
{
    protect_all(PROT_READ | PROT_WRITE);
    memset(memory(), 0xFF, BYTES);
    memset(is_programmed, 0, sizeof is_programmed);
    memset(is_damaged, 0, sizeof is_damaged);
    memset(erasures, 0, sizeof erasures);
}

static ar_flash flash;
static ar_store store;
static uint8_t copy[RECORD];
static int (*driver_read)(void *, uint32_t, void *, uint32_t);

static int checked_read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    if (is_stale && !flash.busy) {
        fail("the cache of the processor has old data");
    }
#ifdef MODEL_L4
    if (is_stale) {
        fail("the cache of the processor has old data");
    }
#endif
#if defined(MODEL_L4) || defined(MODEL_F4)
    return driver_read(context, at, data, bytes);
#else
    /* The driver accesses registers for each word that it reads. What it cleared is cleared afterwards. */
    protect(host_page(FLASH_R_BASE), PROT_READ | PROT_WRITE);
    const int is_bad = driver_read(context, at, data, bytes);
    STATUS &= ~FLASH->CCR2;
    FLASH->CCR2 = 0;
    protect(host_page(FLASH_R_BASE), PROT_NONE);
    return is_bad;
#endif
}

static void record(uint32_t number, uint8_t *to)
{
    for (uint32_t k = 0; k < RECORD; k++) {
        to[k] = (uint8_t)(k < 4 ? number >> 8 * k : (number * 2654435761u + k * 40503u) >> 13);
    }
}

/* Starts the store. Returns the number of the record that it finds, or 0. */
static uint32_t start(void)
{
    restart();
    if (!learning_flash(&flash)) {
        fail("the program does not fit");
    }
    driver_read = flash.read;
    flash.read = checked_read;
    const int result = ar_store_start(&store, &flash, RECORD, 7, copy);
    if (result == AR_STORE_UNSUITABLE) {
        fail("the memory is unsuitable");
    }
    if (result == AR_STORE_EMPTY) {
        return 0;
    }
    uint8_t wanted[RECORD];
    const uint32_t number = copy[0] | (uint32_t)copy[1] << 8 | (uint32_t)copy[2] << 16;
    record(number, wanted);
    if (memcmp(copy, wanted, RECORD) != 0) {
        fail("record %u is not whole", number);
    }
    return number;
}

static void save(uint32_t number)
{
    uint8_t wanted[RECORD];
    int result;
    record(number, wanted);
    ar_store_save(&store, wanted);
    do {
        result = ar_store_step(&store);
    } while (result == AR_STORE_BUSY);
    if (result != AR_STORE_SAVED) {
        fail("record %u was not saved", number);
    }
}

static volatile uint32_t begun, saved;

/* Saves records, with a start after each SESSION of them. */
static void use(void)
{
    begun = saved = 0;
    for (uint32_t number = 1; number <= SAVES; number++) {
        if (number % SESSION == 1 && start() != saved) {
            fail("record %u was lost without a cut", saved);
        }
        begun = number;
        save(number);
        saved = number;
    }
}

int main(int count, char **arguments)
{
    const uint32_t stride = count > 1 ? (uint32_t)atoi(arguments[1]) : 1, seeds = 2;
    static uint32_t new_ones, old_ones, empty_ones, damaged_ones;
    open_memory();
    clear_memory();
    cut_at = -1;
    use();
    const uint32_t total = operations;
    for (uint32_t k = 0; k < APP_FLASH_PAGES; k++) {
        if (!erasures[k]) {
            fail("page %u was not used", k);
        }
    }
    static volatile uint32_t cut, seed;
    for (cut = 0; cut < total; cut += stride) {
        for (seed = 0; seed < seeds; seed++) {
            clear_memory();
            random_state = cut * 1000u + seed;
            operations = 0;
            cut_at = (int64_t)cut;
            if (!sigsetjmp(power_is_off, 1)) {
                use();
                fail("no cut");
            }
            cut_at = -1;
            for (uint32_t k = 0; k < sizeof is_damaged; k++) {
                damaged_ones += is_damaged[k];
            }
            const uint32_t found = start();
            if (found != saved && found != begun) {
                fail("cut %u: record %u, expected %u or %u", cut, found, saved, begun);
            }
            *(found == 0 ? &empty_ones : found == begun ? &new_ones : &old_ones) += 1;
            save(101);
            save(102);
            if (start() != 102) {
                fail("cut %u: record 102 is not found", cut);
            }
        }
    }
    printf("%u cuts: %u found the record that was being saved, %u the one before, %u none; %u units were "
           "damaged\n",
           new_ones + old_ones + empty_ones, new_ones, old_ones, empty_ones, damaged_ones);
    return 0;
}
