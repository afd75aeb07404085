"""The flash memories of an RP2040 and an ESP32 keep what an application learned. Their drivers run on this computer, on
a memory that obeys the rules of NOR flash: an erasure sets bits, programming only clears them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from arenite.firmware.sources import STATE_STORE
from tests.firmware.app.compiled_app import compiled

PAGES, PAGE, SIZE = 3, 4096, 2 << 20
#: Offset of the first page. The Pico's last sector stays free.
FIRST = {"flash_region_pico.c": SIZE - (PAGES + 1) * PAGE, "flash_region_esp.c": SIZE - PAGES * PAGE}
_HEADERS = {
    "app_learning.h": f"#define APP_FLASH_PAGE {PAGE}u\n#define APP_FLASH_PAGES {PAGES}u\n",
    "arenite/decision.h": "typedef struct { int at; } ar_event;\n",
    "hardware/sync.h": """
#include <stdint.h>
static inline uint32_t save_and_disable_interrupts(void) { return 0; }
static inline void restore_interrupts(uint32_t interrupts) { (void)interrupts; }
""",
    "hardware/flash.h": f"""
#include <stddef.h>
#include <stdint.h>
#define PICO_FLASH_SIZE_BYTES {SIZE}u
#define FLASH_SECTOR_SIZE {PAGE}u
#define FLASH_PAGE_SIZE 256u
extern uint8_t memory[];
#define XIP_BASE ((uintptr_t)memory)
void flash_range_erase(uint32_t at, size_t count);
void flash_range_program(uint32_t at, const uint8_t *data, size_t count);
""",
    "esp_partition.h": """
#include <stddef.h>
#include <stdint.h>
typedef int esp_err_t;
typedef enum { ESP_PARTITION_TYPE_DATA = 1 } esp_partition_type_t;
typedef int esp_partition_subtype_t;
enum { ESP_OK = 0 };
typedef struct { uint32_t address, size, erase_size; } esp_partition_t;
const esp_partition_t *esp_partition_find_first(esp_partition_type_t, esp_partition_subtype_t, const char *);
esp_err_t esp_partition_erase_range(const esp_partition_t *, size_t, size_t);
esp_err_t esp_partition_write(const esp_partition_t *, size_t, const void *, size_t);
esp_err_t esp_partition_read(const esp_partition_t *, size_t, void *, size_t);
""",
}
_CODE = f"""
#include "arenite/state_store.h"
#include "esp_partition.h"
#include "hardware/flash.h"
#include "learning.h"
#include <string.h>
uint8_t memory[{SIZE}];
__asm__(".globl __flash_binary_end\\n.set __flash_binary_end, memory + {SIZE // 2}");
static const esp_partition_t partition = {{{SIZE - PAGES * PAGE}, {PAGES * PAGE}, {PAGE}}};
static ar_flash flash;
static ar_store store;
static uint8_t copy[300];
uint32_t begin(uint8_t *found);
int save(const uint8_t *record);
void flash_range_erase(uint32_t at, size_t count) {{ memset(memory + at, 0xFF, count); }}
void flash_range_program(uint32_t at, const uint8_t *data, size_t count)
{{
    for (size_t k = 0; k < count; k++) {{
        memory[at + k] &= data[k];
    }}
}}
const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char *name)
{{
    return type == ESP_PARTITION_TYPE_DATA && subtype == 0x40 && !strcmp(name, "arenite") ? &partition : 0;
}}
esp_err_t esp_partition_erase_range(const esp_partition_t *p, size_t at, size_t count)
{{
    flash_range_erase((uint32_t)(p->address + at), count);
    return 0;
}}
esp_err_t esp_partition_write(const esp_partition_t *p, size_t at, const void *data, size_t count)
{{
    flash_range_program((uint32_t)(p->address + at), data, count);
    return 0;
}}
esp_err_t esp_partition_read(const esp_partition_t *p, size_t at, void *data, size_t count)
{{
    memcpy(data, memory + p->address + at, count);
    return 0;
}}
uint32_t begin(uint8_t *found)
{{
    if (!learning_flash(&flash)) {{
        return 9;
    }}
    const int state = ar_store_start(&store, &flash, sizeof copy, 77, copy);
    memcpy(found, copy, sizeof copy);
    return (uint32_t)state;
}}
int save(const uint8_t *record)
{{
    int step = AR_STORE_BUSY;
    if (!ar_store_save(&store, record)) {{
        return -9;
    }}
    while (step == AR_STORE_BUSY) {{
        step = ar_store_step(&store);
    }}
    return step;
}}
"""


def _library(folder: Path, source: str, **headers: str) -> ctypes.CDLL:
    for name in ("arenite", "hardware"):
        (folder / name).mkdir()
    store = {f"arenite/{name}": STATE_STORE.read(name) for name in ("flash.h", "state_store.h")}
    code = _CODE + STATE_STORE.read("state_store.c").replace('"state_store.h"', '"arenite/state_store.h"')
    return compiled(folder, [source], code, _HEADERS | store | headers)


@pytest.mark.parametrize("source", list(FIRST))
def test_the_newest_record_is_found_and_nothing_else_is_written(source: str, tmp_path: Path) -> None:
    library = _library(tmp_path, source)
    memory = (ctypes.c_uint8 * SIZE).in_dll(library, "memory")
    ctypes.memset(memory, 0xA5, SIZE)
    found = ctypes.create_string_buffer(300)
    assert library.begin(found) == 0
    for k in range(40):  # more than a page holds
        record = bytes((k + i) % 256 for i in range(300))
        assert library.save(record) == 2
        assert library.begin(found) == 1 and found.raw == record
    contents = bytes(memory)
    first = FIRST[source]
    outside = contents[:first] + contents[first + PAGES * PAGE :]
    assert outside == b"\xa5" * len(outside)


def test_a_program_that_reaches_the_sectors_leaves_no_memory(tmp_path: Path) -> None:
    header = _HEADERS["hardware/flash.h"].replace(f"{SIZE}u", f"{SIZE // 2}u")
    library = _library(tmp_path, "flash_region_pico.c", **{"hardware/flash.h": header})
    assert library.begin(ctypes.create_string_buffer(300)) == 9
