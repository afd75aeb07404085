/* What the flash controllers of SAMD21 and SAMD51 do. The model enforces the rules: the key of each command, no command and
 * no access while another one runs, a page buffer that is cleared before it is filled, no write that begins on its own,
 * one write of a unit after an erasure, and, in the SAMD21, 8 writes of a row. */
#include "controller.h"
#include <string.h>

enum { BUSY_READS = 5 };

static uint32_t busy_reads;
static struct {
    uint8_t bytes[PAGE_BUFFER], is_loaded[PAGE_BUFFER / 4];
    uint32_t is_clear, page; /* offset of the page in the region */
} buffer;

static volatile uint32_t *word_at(uintptr_t at) { return (volatile uint32_t *)at; }
static volatile uint16_t *half_at(uintptr_t at) { return (volatile uint16_t *)at; }

static void clear_buffer(void)
{
    memset(buffer.bytes, 0xFF, sizeof buffer.bytes);
    memset(buffer.is_loaded, 0, sizeof buffer.is_loaded);
    buffer.is_clear = 1;
}

/* Programs the units of the buffer from offset `first` of the page, which must be loaded as a whole or not at all. */
static void write_buffer(uint32_t offset, uint32_t first, uint32_t bytes)
{
    if (offset != buffer.page) {
        fail("the buffer of page %u is written to page %u", buffer.page, offset);
    }
    for (uint32_t k = first; k < first + bytes; k += UNIT) {
        uint32_t words = 0;
        for (uint32_t i = 0; i < UNIT / 4; i++) {
            words += buffer.is_loaded[k / 4 + i];
        }
        if (words != 0 && words != UNIT / 4) {
            fail("%u words of a unit are written", words);
        }
        if (words != 0) {
            program_unit((offset + k) / UNIT, buffer.bytes + k);
        }
    }
    clear_buffer();
}

static void word_loaded(uint32_t offset, uint32_t value)
{
    const uint32_t page = offset / PAGE_BUFFER * PAGE_BUFFER;
    if (buffer.is_clear) {
        buffer.page = page;
        buffer.is_clear = 0;
    }
    if (page != buffer.page || buffer.is_loaded[offset % PAGE_BUFFER / 4]) {
        fail("the page buffer is filled without being cleared");
    }
    buffer.is_loaded[offset % PAGE_BUFFER / 4] = 1;
    memcpy(buffer.bytes + offset % PAGE_BUFFER, &value, 4);
}

#if defined(MODEL_SAMD21)
static uint32_t row_writes[APP_FLASH_PAGES];

static void command(uint32_t value)
{
    const uint32_t at = *word_at(NVMCTRL_AT + NVMCTRL_ADDR_OFFSET) * 2u - APP_FLASH_ADDRESS;
    if (value >> 8 != NVMCTRL_CTRLA_CMDEX_KEY_Val) {
        fail("a command without its key");
    }
    if (busy_reads) {
        fail("a command begins while another one runs");
    }
    switch (value & 0x7F) {
    case NVMCTRL_CTRLA_CMD_ER_Val:
        row_writes[at / APP_FLASH_PAGE % APP_FLASH_PAGES] = 0;
        erase_page(at / APP_FLASH_PAGE);
        break;
    case NVMCTRL_CTRLA_CMD_WP_Val:
        if (++row_writes[at / APP_FLASH_PAGE % APP_FLASH_PAGES] > WRITES_OF_A_ROW) {
            fail("a row is written more than %u times", WRITES_OF_A_ROW);
        }
        write_buffer(at / PAGE_BUFFER * PAGE_BUFFER, 0, PAGE_BUFFER);
        break;
    case NVMCTRL_CTRLA_CMD_PBC_Val:
        clear_buffer();
        break;
    case NVMCTRL_CTRLA_CMD_INVALL_Val:
        model.is_stale = 0;
        break;
    default:
        fail("the command %x", value);
    }
    busy_reads = BUSY_READS;
}

void show_register(uintptr_t at)
{
    if (at == NVMCTRL_AT + NVMCTRL_INTFLAG_OFFSET) {
        *(volatile uint8_t *)at = (uint8_t)(busy_reads ? 0 : 1u << NVMCTRL_INTFLAG_READY_Pos);
    }
}

void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
{
    if (at == NVMCTRL_AT + NVMCTRL_INTFLAG_OFFSET && !is_write) {
        busy_reads -= busy_reads > 0;
    } else if (at == NVMCTRL_AT + NVMCTRL_CTRLA_OFFSET && is_write) {
        command(*half_at(at));
    } else if (at == NVMCTRL_AT + NVMCTRL_STATUS_OFFSET && is_write) {
        *half_at(at) = (uint16_t)(old & ~(uint32_t)*half_at(at));
    }
}

static void check_load(void)
{
    if (!(*word_at(NVMCTRL_AT + NVMCTRL_CTRLB_OFFSET) & 1u << NVMCTRL_CTRLB_MANW_Pos)) {
        fail("the last word of a page begins a write");
    }
}

static void restart_family(void) { *word_at(NVMCTRL_AT + NVMCTRL_CTRLB_OFFSET) = 0; }

void memory_read(uintptr_t at) { fail("a read of %lx is not permitted", (unsigned long)at); }
#else
static uint8_t is_cached[BYTES / UNIT]; /* damaged units that the processor's cache has */

static void command(uint32_t value)
{
    const uint32_t at = *word_at(NVMCTRL_AT + NVMCTRL_ADDR_OFFSET) - APP_FLASH_ADDRESS;
    if (value >> 8 != NVMCTRL_CTRLB_CMDEX_KEY_Val) {
        fail("a command without its key");
    }
    if (busy_reads) {
        fail("a command begins while another one runs");
    }
    switch (value & 0x7F) {
    case NVMCTRL_CTRLB_CMD_EB_Val:
        erase_page(at / APP_FLASH_PAGE);
        break;
    case NVMCTRL_CTRLB_CMD_WQW_Val:
        write_buffer(at / PAGE_BUFFER * PAGE_BUFFER, at % PAGE_BUFFER / UNIT * UNIT, UNIT);
        break;
    case NVMCTRL_CTRLB_CMD_PBC_Val:
        clear_buffer();
        break;
    default:
        fail("the command %x", value);
    }
    busy_reads = BUSY_READS;
}

void show_register(uintptr_t at)
{
    if (at == NVMCTRL_AT + NVMCTRL_STATUS_OFFSET) {
        *half_at(at) = (uint16_t)(busy_reads ? 0 : 1u << NVMCTRL_STATUS_READY_Pos);
    }
}

void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
{
    if (at == NVMCTRL_AT + NVMCTRL_STATUS_OFFSET && !is_write) {
        busy_reads -= busy_reads > 0;
    } else if (at == NVMCTRL_AT + NVMCTRL_CTRLB_OFFSET && is_write) {
        command(*half_at(at));
    } else if (at == NVMCTRL_AT + NVMCTRL_INTFLAG_OFFSET && is_write) {
        /* A one clears, but the flags of check bits are cleared by a read of ECCERR. */
        *half_at(at) = (uint16_t)(old & ~(*half_at(at) & ~(1u << NVMCTRL_INTFLAG_ECCDE_Pos)));
    } else if (at == NVMCTRL_AT + NVMCTRL_ECCERR_OFFSET && !is_write) {
        *half_at(NVMCTRL_AT + NVMCTRL_INTFLAG_OFFSET) &= (uint16_t)~(1u << NVMCTRL_INTFLAG_ECCDE_Pos);
    } else if (at == CMCC_AT + CMCC_CTRL_OFFSET && is_write) {
        *word_at(CMCC_AT + CMCC_SR_OFFSET) = *word_at(at) & 1u;
    } else if (at == CMCC_AT + CMCC_MAINT0_OFFSET && is_write && *word_at(at) & 1u) {
        if (*word_at(CMCC_AT + CMCC_SR_OFFSET) & 1u) {
            fail("the cache is invalidated while it is on");
        }
        memset(is_cached, 0, sizeof is_cached);
        model.is_stale = 0;
    }
}

/* Reads of the cache lines while the page buffer is filled may return wrong data (errata of the SAMD51). */
static void check_load(void)
{
    const uint32_t control = *half_at(NVMCTRL_AT + NVMCTRL_CTRLA_OFFSET);
    if (control >> NVMCTRL_CTRLA_WMODE_Pos & 3u) {
        fail("the last word of a page begins a write");
    }
    if (!(control >> NVMCTRL_CTRLA_CACHEDIS0_Pos & 1u) || !(control >> NVMCTRL_CTRLA_CACHEDIS1_Pos & 1u)) {
        fail("the page buffer is filled while the lines of the controller's cache are on");
    }
}

static void restart_family(void)
{
    *half_at(NVMCTRL_AT + NVMCTRL_CTRLA_OFFSET) = 4; /* AUTOWS */
    *word_at(CMCC_AT + CMCC_SR_OFFSET) = 1;          /* the program has turned the cache on */
    memset(is_cached, 0, sizeof is_cached);
}

void memory_read(uintptr_t at)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS);
    if (offset < BYTES && model.is_damaged[offset / UNIT] && !is_cached[offset / UNIT]) {
        is_cached[offset / UNIT] = 1;
        open_registers();
        *half_at(NVMCTRL_AT + NVMCTRL_INTFLAG_OFFSET) |= 1u << NVMCTRL_INTFLAG_ECCDE_Pos;
        close_registers();
    }
}
#endif

/* A word was written to the flash memory: it is in the page buffer, and the memory stays. */
void word_written(uintptr_t at, uint32_t old, uint32_t new)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS);
    *(uint32_t *)at = old;
    if (offset >= BYTES || at % 4) {
        fail("a write at offset %u", offset);
    }
    if (busy_reads) {
        fail("the page buffer is filled while a command runs");
    }
    check_load();
    word_loaded(offset, new);
}

/* Takes the power away and turns it on again. The page buffer may have anything, so it is not clear. */
void controller_restart(void)
{
    open_registers();
    memset((void *)(uintptr_t)NVMCTRL_AT, 0, 0x30);
    restart_family();
    memset(buffer.is_loaded, 1, sizeof buffer.is_loaded);
    busy_reads = model.is_stale = buffer.is_clear = 0;
    close_memory();
}
