/* A flash memory of an emulated Arm board: the file flash.bin in the emulator's folder, which the emulator's semihosting
 * reads and writes. Without this file there is no flash memory. */
#include "app_learning.h"
#include "learning.h"
#include "semihosting.h"

enum { UNIT = 16 };

static uint32_t file;

/* Reads or writes `bytes` bytes from `at`. Returns 0 if all of them were. */
static int transfer(uint32_t operation, uint32_t at, void *data, uint32_t bytes)
{
    const struct {
        uint32_t file, at;
    } seek = {file, at};
    const struct {
        uint32_t file;
        void *data;
        uint32_t bytes;
    } argument = {file, data, bytes};
    return semihosting(SYS_SEEK, &seek) != 0 || semihosting(operation, &argument) != 0;
}

static int erase(void *context, uint32_t page)
{
    uint8_t erased[UNIT];
    (void)context;
    for (uint32_t i = 0; i < UNIT; i++) {
        erased[i] = 0xFF;
    }
    for (uint32_t at = 0; at < APP_FLASH_PAGE; at += UNIT) {
        if (transfer(SYS_WRITE, page * APP_FLASH_PAGE + at, erased, UNIT)) {
            return 1;
        }
    }
    return 0;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    uint8_t part[UNIT];
    (void)context;
    for (uint32_t done = 0; done < bytes; done += UNIT) {
        for (uint32_t i = 0; i < UNIT; i++) {
            part[i] = ((const uint8_t *)data)[done + i];
        }
        if (transfer(SYS_WRITE, at + done, part, UNIT)) {
            return 1;
        }
    }
    return 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    (void)context;
    return transfer(SYS_READ, at, data, bytes);
}

uint32_t learning_flash(ar_flash *flash)
{
    static const char name[] = "flash.bin";
    const struct {
        const char *name;
        uint32_t mode, length;
    } argument = {name, 3, sizeof name - 1}; /* mode 3: read and write, binary */
    file = semihosting(SYS_OPEN, &argument);
    flash->page_bytes = APP_FLASH_PAGE;
    flash->pages = APP_FLASH_PAGES;
    flash->unit_bytes = UNIT;
    flash->erase = erase;
    flash->program = program;
    flash->read = read;
    flash->busy = 0;
    return file != UINT32_MAX;
}
