/* OV7670 of OmniVision: YUV or RGB565, 640x480 pixels, or a half or a quarter of that. Registers: data sheet 1.4 and the
 * implementation guide 1.0.
 *
 * A line has 784 pixels and CAMERA_CHIP_ROW_US is that of one line, of two for 320x240, and of four for 160x120. A
 * prescaler and dummy pixels lengthen the line, dummy lines the frame. */
#include "camera_registers.h"

enum {
    WIDE = 0,
    PRODUCT = 0x0A,
    COM3 = 0x0C,
    CLKRC = 0x11,
    COM7 = 0x12,
    COM8 = 0x13,
    COM10 = 0x15,
    EXHCH = 0x2A,
    EXHCL = 0x2B,
    TSLB = 0x3A,
    COM13 = 0x3D,
    COM14 = 0x3E,
    COM15 = 0x40,
    DBLV = 0x6B,
    SCALING_XSC = 0x70,
    SCALING_YSC = 0x71,
    SCALING_DCWCTR = 0x72,
    SCALING_PCLK_DIV = 0x73,
    RGB444 = 0x8C,
    DM_LNL = 0x92,
    DM_LNH = 0x93,
    SCALING_PCLK_DELAY = 0xA2,
};

/* The logarithm of the lines of a row. */
#define HALVES (CAMERA_CHIP_WIDTH == 640 ? 0 : CAMERA_CHIP_WIDTH == 320 ? 1 : 2)
/* Periods of a pixel in a line, without the prescaler. A pixel takes two periods of the clock. */
#define PERIODS (CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 1000) / 1000 / (2 << HALVES))
#define DIVIDER (PERIODS / 784 > 64 ? 64 : PERIODS / 784)
#define DUMMY_PIXELS (PERIODS / (DIVIDER ? DIVIDER : 1) - 784)
#define LINES ((CAMERA_FRAME_US << HALVES) / CAMERA_CHIP_ROW_US)
#define DUMMY_LINES (LINES - 510)
typedef char ov7670_row_time_is_possible[PERIODS >= 784 && DUMMY_PIXELS <= 4095 ? 1 : -1];
typedef char ov7670_frame_time_is_possible[LINES >= 510 && DUMMY_LINES <= 65535 ? 1 : -1];

const uint32_t camera_chip_valid_high = 0;
const uint32_t camera_chip_valid_at_rise = 1;

static const camera_setting settings[] = {
    {CLKRC, DIVIDER - 1},
    {DBLV, 0x0A}, /* no multiplication of the clock */
    {COM7, CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0x04 : 0},
    {COM15, CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0xD0 : 0xC0}, /* values of 0 to 255 */
    {RGB444, 0},
    {TSLB, CAMERA_CHIP_SENDS == CAMERA_SENDS_UYVY ? 0x0C : 0x04},
    {COM13, 0x88},
    {COM3, HALVES ? 0x04 : 0},
    {COM14, HALVES ? 0x18 | HALVES : 0},
    {SCALING_XSC, 0x3A},
    {SCALING_YSC, 0x35},
    {SCALING_DCWCTR, HALVES << 4 | HALVES},
    {SCALING_PCLK_DIV, 0xF0 | HALVES},
    {SCALING_PCLK_DELAY, 0x02},
    {EXHCH, (uint8_t)(DUMMY_PIXELS >> 8 << 4)},
    {EXHCL, (uint8_t)DUMMY_PIXELS},
    {DM_LNL, (uint8_t)DUMMY_LINES},
    {DM_LNH, (uint8_t)(DUMMY_LINES >> 8)},
    {COM10, 0x20}, /* no clock between rows */
    {COM8, 0xC7},  /* exposure, gain and white balance are automatic */
};

uint32_t camera_chip_start(void)
{
    const uint32_t problem = camera_identify(PRODUCT, 0x7670, 0xFFF0, WIDE);
    if (problem) {
        return problem;
    }
    const camera_setting reset = {COM7, 0x80};
    const uint32_t is_gone = camera_set_all(&reset, 1, WIDE);
    camera_bus_wait(10);
    return is_gone ? is_gone : camera_set_all(settings, sizeof settings / sizeof *settings, WIDE);
}
