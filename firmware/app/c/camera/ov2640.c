/* OV2640 of OmniVision: gray, YUV or RGB565, any size up to 800x600 whose sides are multiples of 4. Registers: data
 * sheet 2.2. The sensor sends 800x600 pixels to the chip's own processor, which cuts the largest middle part with the
 * shape of the frame, and scales it.
 *
 * A line of the sensor has 1190 periods of its clock. A prescaler and more periods lengthen the line, more lines the
 * frame. */
#include "camera_registers.h"

enum {
    WIDE = 0,
    BANK = 0xFF, /* of registers: 0 the processor, 1 the sensor */
    /* The processor. */
    R_BYPASS = 0x05,
    CTRLI = 0x50,
    HSIZE = 0x51,
    VSIZE = 0x52,
    XOFFL = 0x53,
    YOFFL = 0x54,
    VHYX = 0x55,
    TEST = 0x57,
    ZMOW = 0x5A,
    ZMOH = 0x5B,
    ZMHH = 0x5C,
    SIZEL = 0x8C,
    HSIZE8 = 0xC0,
    VSIZE8 = 0xC1,
    CTRL2 = 0x86,
    CTRL0 = 0xC2,
    R_DVP_SP = 0xD3,
    IMAGE_MODE = 0xDA,
    RESET = 0xE0,
    /* The sensor. */
    PRODUCT = 0x0A,
    CLKRC = 0x11,
    COM7 = 0x12,
    COM8 = 0x13,
    REG2A = 0x2A,
    FRARL = 0x2B,
    FLL = 0x46,
    FLH = 0x47,
};

/* The part of the sensor's pixels that is scaled. */
#define IS_WIDE (CAMERA_CHIP_WIDTH * 600 >= CAMERA_CHIP_HEIGHT * 800)
#define PART_WIDTH (IS_WIDE ? 800 : CAMERA_CHIP_WIDTH * 600 / CAMERA_CHIP_HEIGHT / 4 * 4)
#define PART_HEIGHT (IS_WIDE ? CAMERA_CHIP_HEIGHT * 800 / CAMERA_CHIP_WIDTH / 4 * 4 : 600)
#define LEFT ((800 - PART_WIDTH) / 2)
#define TOP ((600 - PART_HEIGHT) / 2)
/* The largest power of two by which pixels are first averaged, as its logarithm. */
#define HALVES(from, to) ((from) >= 8 * (to) ? 3 : (from) >= 4 * (to) ? 2 : (from) >= 2 * (to) ? 1 : 0)
/* Periods of the clock in a line, without the prescaler. */
#define PERIODS (CAMERA_CHIP_ROW_US * CAMERA_CHIP_HEIGHT / PART_HEIGHT * (CAMERA_CLOCK_HZ / 1000) / 1000)
#define DIVIDER (PERIODS / 1190 > 64 ? 64 : PERIODS / 1190)
#define MORE_PERIODS (PERIODS / (DIVIDER ? DIVIDER : 1) - 1190)
#define LINES (CAMERA_FRAME_US / (CAMERA_CHIP_ROW_US * CAMERA_CHIP_HEIGHT / PART_HEIGHT))
#define MORE_LINES (LINES - 672)
typedef char ov2640_size_is_possible[CAMERA_CHIP_WIDTH % 4 == 0 && CAMERA_CHIP_HEIGHT % 4 == 0 ? 1 : -1];
typedef char ov2640_row_time_is_possible[PERIODS >= 1190 && MORE_PERIODS <= 4095 ? 1 : -1];
typedef char ov2640_frame_time_is_possible[LINES >= 672 && MORE_LINES <= 65535 ? 1 : -1];

const uint32_t camera_chip_valid_high = 0;
const uint32_t camera_chip_valid_at_rise = 1;

static const camera_setting settings[] = {
    {BANK, 1},
    {COM7, 0x40}, /* 800x600 */
    {CLKRC, DIVIDER - 1},
    {REG2A, (uint8_t)(MORE_PERIODS >> 8 << 4)},
    {FRARL, (uint8_t)MORE_PERIODS},
    {FLL, (uint8_t)MORE_LINES},
    {FLH, (uint8_t)(MORE_LINES >> 8)},
    {COM8, 0xE5}, /* exposure and gain are automatic */
    {BANK, 0},
    {RESET, 0x04}, /* hold the parallel port while sizes change */
    {R_BYPASS, 0},
    {HSIZE8, 800 / 8},
    {VSIZE8, 600 / 8},
    {SIZEL, 0},
    {CTRL2, 0x3D},
    {CTRLI, 0x80 | HALVES(PART_HEIGHT, CAMERA_CHIP_HEIGHT) << 3 | HALVES(PART_WIDTH, CAMERA_CHIP_WIDTH)},
    {HSIZE, (uint8_t)(PART_WIDTH / 4)},
    {VSIZE, (uint8_t)(PART_HEIGHT / 4)},
    {XOFFL, (uint8_t)LEFT},
    {YOFFL, (uint8_t)TOP},
    {VHYX, (PART_HEIGHT / 4 >> 8) << 7 | (TOP >> 8) << 4 | (PART_WIDTH / 4 >> 8) << 3 | LEFT >> 8},
    {TEST, 0},
    {ZMOW, (uint8_t)(CAMERA_CHIP_WIDTH / 4)},
    {ZMOH, (uint8_t)(CAMERA_CHIP_HEIGHT / 4)},
    {ZMHH, 0},
    {CTRL0, CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0x0A : 0x0C},
    {R_DVP_SP, 0x82}, /* the clock of the pixels follows from the size */
    {IMAGE_MODE, CAMERA_CHIP_SENDS == CAMERA_SENDS_GREY     ? 0x40
                 : CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0x09
                 : CAMERA_CHIP_SENDS == CAMERA_SENDS_YUYV   ? 0x01
                                                            : 0x00},
    {RESET, 0},
};

uint32_t camera_chip_start(void)
{
    static const camera_setting reset[] = {{BANK, 1}, {COM7, 0x80}};
    if (!camera_set(BANK, 1, WIDE)) { /* the number is in the bank of the sensor */
        console_note(
            "No camera answers: check its supply, its clock, the wires of the bus, and CAMERA_ADDRESS.");
        return CAMERA_NO_ANSWER;
    }
    const uint32_t problem = camera_identify(PRODUCT, 0x2640, 0xFFF0, WIDE);
    if (problem) {
        return problem;
    }
    const uint32_t is_gone = camera_set_all(reset, 2, WIDE);
    camera_bus_wait(10);
    return is_gone ? is_gone : camera_set_all(settings, sizeof settings / sizeof *settings, WIDE);
}
