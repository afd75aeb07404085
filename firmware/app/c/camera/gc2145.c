/* GC2145 of GalaxyCore: YUV or RGB565, 640x480, 320x240 or 160x120 pixels. Registers and times: those of the data sheet
 * GC2145 CSP 1.0, as the public drivers of Linux, ESP-IDF and ArduinoCore-mbed name them; the data sheet itself was not at
 * hand. A comment names the group of registers. The values of PLL_MODE1, CM_MODE, ANALOG_MODE, SYNC_MODE and SUBSAMPLE_MODE
 * are those on which these drivers agree or which ArduinoCore-mbed uses. The sensor reads a window in its middle, and of this window every
 * second or fifth pixel and line is sent.
 *
 * A line lasts HB + SH_DELAY + WIN_WIDTH + 4 periods (7.1.1), and a frame VB + WIN_HEIGHT lines. Nothing at
 * hand tells the frequency of these periods. It is taken as half of the multiplier of PLL_MODE2 times the clock at the chip,
 * because this gives the frame rates that public drivers name for three multipliers. CLK_DIV_MODE halves it.
 *
 * Lens, gamma and color correction keep the values of a reset. */
#include "camera_registers.h"

enum {
    WIDE = 0,
    CHIP_ID = 0xF0, /* on every page, as all registers from 0xF0 on are */
    PAD_OUTPUT = 0xF2,
    PLL_MODE1 = 0xF7,
    PLL_MODE2 = 0xF8,
    CM_MODE = 0xF9,
    CLK_DIV_MODE = 0xFA,
    ANALOG_MODE = 0xFC,
    PAGE = 0xFE, /* bits 2 to 0 choose the page, bits 7 to 4 reset */
    /* Page 0. Numbers of 16 bits have their upper byte first. */
    HB = 0x05,
    VB = 0x07,
    ROW_START = 0x09,
    COL_START = 0x0B,
    WIN_HEIGHT = 0x0D,
    WIN_WIDTH = 0x0F,
    SH_DELAY = 0x11,
    BLOCKS = 0x82,
    OUTPUT_FORMAT = 0x84,
    SYNC_MODE = 0x86,
    CROP_ENABLE = 0x90,
    CROP_Y = 0x91,
    CROP_X = 0x93,
    CROP_HEIGHT = 0x95,
    CROP_WIDTH = 0x97,
    SUBSAMPLE = 0x99,
    SUBSAMPLE_MODE = 0x9A,
    AEC_ENABLE = 0xB6,
    /* Page 1. */
    AEC_STEP = 0x25,
    AEC_LEVEL_1 = 0x27,
    AEC_LEVEL_2 = 0x29,
    AEC_LEVEL_3 = 0x2B,
    AEC_LEVEL_4 = 0x2D,
};

enum {
    SENSOR_WIDTH = 1600,
    SENSOR_HEIGHT = 1200,
    MULTIPLIER = 5,
    DELAY = 30,
    MIN_HB = 256,
    MAX_HB = 4095,
    MAX_VB = 8191
};
#define RATIO (CAMERA_CHIP_WIDTH == 640 ? 2 : 5)
/* The window, and 16 more columns and 8 more lines that the processing of colors needs. */
#define PART_WIDTH (RATIO * CAMERA_CHIP_WIDTH)
#define PART_HEIGHT (RATIO * CAMERA_CHIP_HEIGHT)
#define ALL_LINES (PART_HEIGHT + 8)
#define FIXED (PART_WIDTH + 16 + DELAY + 4)
/* Periods of a line, before they are divided by 1 or 2. */
#define PERIODS (CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 1000 * MULTIPLIER / 2) / 1000 / RATIO)
#define DIVIDER (PERIODS > FIXED + MAX_HB ? 2 : 1)
#define BLANK (PERIODS / DIVIDER - FIXED)
#define LINES (CAMERA_FRAME_US * RATIO / CAMERA_CHIP_ROW_US)
#define BLANK_LINES (LINES - ALL_LINES)
/* Lines of 10 ms, in which a lamp at 50 Hz has a period of its light, and the longest exposure: it has 13 bits. */
#define STEP (10000 * RATIO / CAMERA_CHIP_ROW_US + 1)
#define EXPOSURE (LINES - 16 > 8191 ? 8191 : LINES - 16)
/* The compiler refuses an array of negative size. */
typedef char gc2145_size_is_possible[(CAMERA_CHIP_WIDTH == 640 || CAMERA_CHIP_WIDTH == 320 ||
                                      CAMERA_CHIP_WIDTH == 160) &&
                                             CAMERA_CHIP_HEIGHT * 4 == CAMERA_CHIP_WIDTH * 3
                                         ? 1
                                         : -1];
typedef char gc2145_row_time_is_possible[PERIODS >= FIXED + MIN_HB && BLANK <= MAX_HB ? 1 : -1];
typedef char gc2145_frame_time_is_possible[LINES >= ALL_LINES + 16 && BLANK_LINES <= MAX_VB ? 1 : -1];

#define WORD(number, value) \
    {number, (uint8_t)((value) >> 8)}, { (number) + 1, (uint8_t)(value) }

const uint32_t camera_chip_valid_high = 1;
const uint32_t camera_chip_valid_at_rise = 0;

static const camera_setting settings[] = {
    {ANALOG_MODE, 0x06},                     /* system registers: all analog parts have power */
    {PAD_OUTPUT, 0},                         /* system registers: no rows while registers change */
    {PLL_MODE1, 0x1D},                       /* system registers: the source is the clock at the chip */
    {PLL_MODE2, 0x80 | MULTIPLIER},          /* system registers: bit 7 turns the multiplication on */
    {CLK_DIV_MODE, DIVIDER == 2 ? 0x11 : 0}, /* system registers: divisor less 1, periods of a high level */
    {CM_MODE, 0xFE},                         /* system registers: the clocks of all blocks */
    {PAGE, 0},
    WORD(HB, BLANK), /* CISCTL registers, as all up to SH_DELAY */
    WORD(VB, BLANK_LINES),
    WORD(ROW_START, (SENSOR_HEIGHT - PART_HEIGHT) / 2),
    WORD(COL_START, (SENSOR_WIDTH - PART_WIDTH) / 2),
    WORD(WIN_HEIGHT, ALL_LINES),
    WORD(WIN_WIDTH, PART_WIDTH + 16),
    WORD(SH_DELAY, DELAY),
    {BLOCKS, 0xFA}, /* ISP registers: white balance is automatic */
    {OUTPUT_FORMAT, CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0x06
                    : CAMERA_CHIP_SENDS == CAMERA_SENDS_YUYV ? 0x02
                                                             : 0x00}, /* ISP registers: output data mode */
    {SYNC_MODE, 0x23}, /* ISP registers: HSYNC and VSYNC are high while pixels are valid */
    {CROP_ENABLE, 1},  /* ISP registers: out window mode */
    WORD(CROP_Y, 0),
    WORD(CROP_X, 0),
    WORD(CROP_HEIGHT, CAMERA_CHIP_HEIGHT),
    WORD(CROP_WIDTH, CAMERA_CHIP_WIDTH),
    {SUBSAMPLE, RATIO << 4 | RATIO}, /* ISP registers: one line and one column of RATIO */
    {SUBSAMPLE_MODE, 0x0E},          /* ISP registers: the colors of neighbors are averaged */
    {AEC_ENABLE, 1},                 /* gains: exposure is automatic */
    {PAGE, 1},
    WORD(AEC_STEP, STEP), /* AEC registers; no exposure is longer than a frame */
    WORD(AEC_LEVEL_1, EXPOSURE),
    WORD(AEC_LEVEL_2, EXPOSURE),
    WORD(AEC_LEVEL_3, EXPOSURE),
    WORD(AEC_LEVEL_4, EXPOSURE),
    {PAGE, 0},
    {PAD_OUTPUT, 0x0F}, /* system registers: data, clock and both synchronizations */
};

uint32_t camera_chip_start(void)
{
    const uint32_t problem = camera_identify(CHIP_ID, 0x2145, 0xFFFF, WIDE);
    if (problem) {
        return problem;
    }
    const camera_setting reset = {PAGE, 0xF0};
    const uint32_t is_gone = camera_set_all(&reset, 1, WIDE);
    camera_bus_wait(10);
    return is_gone ? is_gone : camera_set_all(settings, sizeof settings / sizeof *settings, WIDE);
}
