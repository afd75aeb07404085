/* What the flash controllers of STM32L4, STM32G0, STM32F4 and STM32H7 do. The model enforces the rules: the keys, the size and the
 * order of writes, one write of a unit with check bits after an erasure, and no access while an operation runs. */
#include "controller.h"
#include <string.h>

uint32_t stm32_scb_ccr;
static uint32_t faults_are_masked;
#if defined(MODEL_L4) || defined(MODEL_G0)
void NMI_Handler(void);
#endif

static uint32_t busy_reads, keys, latched, latched_at;

/* The page that the control register names, counted from the first one of the region. */
static uint32_t named_page(uint32_t control)
{
#if defined(MODEL_L4)
    const uint32_t number = (control >> FLASH_CR_PNB_Pos & 255u) + (control & FLASH_CR_BKER ? 256u : 0);
    return number - (APP_FLASH_ADDRESS - 0x08000000u) / APP_FLASH_PAGE;
#elif defined(MODEL_G0)
    /* The numbers of the second bank begin at 256, and the bit of the bank must fit. */
    const uint32_t number = control >> FLASH_CR_PNB_Pos & 1023u, is_second = (control & FLASH_CR_BKER) != 0;
    if (is_second ? number < 256 || number >= 384 : number >= 128) {
        fail("page %u of bank %u", number, is_second + 1);
    }
    return number - (is_second ? 128u : 0u) - (APP_FLASH_ADDRESS - 0x08000000u) / APP_FLASH_PAGE;
#elif defined(MODEL_F4)
    static const uint32_t starts[] = {0x00000, 0x04000, 0x08000, 0x0C000, 0x10000, 0x20000,
                                      0x40000, 0x60000, 0x80000, 0xA0000, 0xC0000, 0xE0000};
    const uint32_t sector = control >> FLASH_CR_SNB_Pos & 31u;
    if (sector > 11) {
        fail("sector %u", sector);
    }
    const uint32_t bytes = sector < 4 ? 0x4000u : sector == 4 ? 0x10000u : 0x20000u;
    if (bytes != APP_FLASH_PAGE) {
        fail("sector %u of %u bytes is erased", sector, bytes);
    }
    return (0x08000000u + starts[sector] - APP_FLASH_ADDRESS) / APP_FLASH_PAGE;
#else
    return ((control >> FLASH_CR_SNB_Pos & 7u) * 0x20000u + BANK - APP_FLASH_ADDRESS) / APP_FLASH_PAGE;
#endif
}

static uint32_t erases(uint32_t control)
{
#if defined(MODEL_L4) || defined(MODEL_G0)
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
        busy_reads = BUSY_READS;
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
void word_written(uintptr_t at, uint32_t old, uint32_t new)
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
    if (latched >= UNIT / 4) {
        fail("more words than those of a unit are written");
    }
    words[latched++] = new;
    if (latched < UNIT / 4) {
        if (power_fails_here()) {
            siglongjmp(model.power_is_off, 1);
        }
        return;
    }
    latched = 0;
    program_unit(unit, (const uint8_t *)words);
    busy_reads = BUSY_READS;
}

void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
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
#elif defined(MODEL_G0)
    } else if ((at == (uintptr_t)&FLASH->ECCR || at == (uintptr_t)&FLASH->ECC2R) && is_write) {
        *(volatile uint32_t *)at = old & ~(value & FLASH_ECCR_ECCD);
#elif !defined(MODEL_F4)
    } else if (at == (uintptr_t)&CLEAR && is_write) {
        STATUS &= ~value;
#endif
    }
#if defined(MODEL_L4) || defined(MODEL_F4)
    if (at == (uintptr_t)&FLASH->ACR && is_write && value & FLASH_ACR_DCRST) {
        if (value & FLASH_ACR_DCEN) {
            fail("the cache is reset while it is on");
        }
        model.is_stale = 0;
    }
#endif
}

/* A page with a damaged unit was read. */
void memory_read(uintptr_t at)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS);
    if (offset >= BYTES || !model.is_damaged[offset / UNIT]) {
        return;
    }
#if defined(MODEL_L4)
    open_registers();
    FLASH->ECCR |= FLASH_ECCR_ECCD;
    close_registers();
    model.nmi_is_pending = 1; /* it may come some cycles after the read */
#elif defined(MODEL_G0)
    open_registers();
    *(APP_FLASH_ADDRESS + offset >= 0x08040000u ? &FLASH->ECC2R : &FLASH->ECCR) |= FLASH_ECCR_ECCD;
    close_registers();
    model.nmi_is_pending = 1;
#elif !defined(MODEL_F4)
    if (!faults_are_masked || !(stm32_scb_ccr & 1u << 8)) {
        fail("a bus fault");
    }
    STATUS |= FLASH_SR_DBECCERR;
#endif
}

/* A barrier of the processor: all reads are complete, and an NMI that they asked for is taken. */
void stm32_barrier(void)
{
#if defined(MODEL_L4) || defined(MODEL_G0)
    if (model.nmi_is_pending) {
        model.nmi_is_pending = 0;
        NMI_Handler();
#ifdef MODEL_G0
        if ((FLASH->ECCR | FLASH->ECC2R) & FLASH_ECCR_ECCD) {
#else
        if (FLASH->ECCR & FLASH_ECCR_ECCD) {
#endif
            fail("the NMI comes again, because its cause is there");
        }
    }
#endif
}

void show_register(uintptr_t at)
{
    if (at == (uintptr_t)&STATUS) {
        STATUS = busy_reads ? STATUS | FLASH_SR_BSY : STATUS & ~(uint32_t)FLASH_SR_BSY;
    }
}

/* Takes the power away and turns it on again: the controller is locked, and the memory stays. */
void controller_restart(void)
{
    open_registers();
    memset((void *)FLASH_R_BASE, 0, sizeof(FLASH_TypeDef));
    CONTROL = FLASH_CR_LOCK;
#if defined(MODEL_L4) || defined(MODEL_F4)
    FLASH->ACR = FLASH_ACR_DCEN;
#endif
    busy_reads = keys = latched = model.is_stale = model.nmi_is_pending = 0;
    faults_are_masked = stm32_scb_ccr = 0;
    close_memory();
}

void stm32_mask_faults(uint32_t is_set) { faults_are_masked = is_set; }

/* The model has no lines of a cache. */
void stm32_forget(uint32_t address) { (void)address; }
