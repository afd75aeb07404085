/* The registers of the flash controllers of SAMD21 and SAMD51, as Microchip's device headers name them.
 * test_flash_samd.py compares the numbers with those of the headers. */
#ifndef SAMD_MODEL_H
#define SAMD_MODEL_H

#include <stdint.h>

#if defined(MODEL_SAMD21)
#define NVMCTRL_CTRLA_OFFSET 0x00
#define NVMCTRL_CTRLB_OFFSET 0x04
#define NVMCTRL_INTFLAG_OFFSET 0x14
#define NVMCTRL_STATUS_OFFSET 0x18
#define NVMCTRL_ADDR_OFFSET 0x1C
#define NVMCTRL_CTRLA_CMDEX_KEY_Val 0xA5
#define NVMCTRL_CTRLA_CMD_ER_Val 0x02
#define NVMCTRL_CTRLA_CMD_WP_Val 0x04
#define NVMCTRL_CTRLA_CMD_PBC_Val 0x44
#define NVMCTRL_CTRLA_CMD_INVALL_Val 0x46
#define NVMCTRL_CTRLB_MANW_Pos 7
#define NVMCTRL_INTFLAG_READY_Pos 0
#define NVMCTRL_STATUS_PROGE_Pos 2
#define NVMCTRL_STATUS_LOCKE_Pos 3
#define NVMCTRL_STATUS_NVME_Pos 4
/* Rows of 256 bytes with 4 pages. A row takes 8 writes after an erasure. */
enum { UNIT = 32, HAS_CHECK_BITS = 0, HAS_CACHE = 1, PAGE_BUFFER = 64, WRITES_OF_A_ROW = 8 };
#define REGISTER_PAGES {0x41004000}
#else
#define NVMCTRL_CTRLA_OFFSET 0x00
#define NVMCTRL_CTRLB_OFFSET 0x04
#define NVMCTRL_INTFLAG_OFFSET 0x10
#define NVMCTRL_STATUS_OFFSET 0x12
#define NVMCTRL_ADDR_OFFSET 0x14
#define NVMCTRL_ECCERR_OFFSET 0x24
#define NVMCTRL_CTRLA_WMODE_Pos 4
#define NVMCTRL_CTRLA_CACHEDIS0_Pos 14
#define NVMCTRL_CTRLA_CACHEDIS1_Pos 15
#define NVMCTRL_CTRLB_CMDEX_KEY_Val 0xA5
#define NVMCTRL_CTRLB_CMD_EB_Val 0x01
#define NVMCTRL_CTRLB_CMD_WQW_Val 0x04
#define NVMCTRL_CTRLB_CMD_PBC_Val 0x15
#define NVMCTRL_INTFLAG_ADDRE_Pos 1
#define NVMCTRL_INTFLAG_PROGE_Pos 2
#define NVMCTRL_INTFLAG_LOCKE_Pos 3
#define NVMCTRL_INTFLAG_ECCDE_Pos 5
#define NVMCTRL_INTFLAG_NVME_Pos 6
#define NVMCTRL_STATUS_READY_Pos 0
#define CMCC_CTRL_OFFSET 0x08
#define CMCC_SR_OFFSET 0x0C
#define CMCC_MAINT0_OFFSET 0x20
/* Blocks of 8 KB, quad words of 16 bytes with check bits. */
enum { UNIT = 16, HAS_CHECK_BITS = 1, HAS_CACHE = 1, PAGE_BUFFER = 512 };
#define REGISTER_PAGES {0x41004000, 0x41006000}
#endif

#define NVMCTRL_AT 0x41004000u
#define CMCC_AT 0x41006000u

#endif
