/* OV5640 of OmniVision: gray, YUV or RGB565, any even size up to 1280x960. Registers: data sheet 2.03. Two pixels of the
 * sensor in each direction become one, the largest middle part with the shape of the frame is read, and the chip scales
 * it.
 *
 * The clock at the chip is used as it is, without the chip's PLL, so that rows are slow enough for a small processor. */
#include "camera_registers.h"

enum {
    WIDE = 1,
    SYSTEM_CONTROL = 0x3008,
    CHIP_ID = 0x300A,
    PAD_OUTPUT_1 = 0x3017,
    PAD_OUTPUT_2 = 0x3018,
    SYSTEM_CLOCK = 0x3103,
    ROOT_DIVIDER = 0x3108,
    AEC_MANUAL = 0x3503,
    X_START = 0x3800,
    Y_START = 0x3802,
    X_END = 0x3804,
    Y_END = 0x3806,
    OUTPUT_WIDTH = 0x3808,
    OUTPUT_HEIGHT = 0x380A,
    LINE_LENGTH = 0x380C,
    FRAME_LENGTH = 0x380E,
    X_OFFSET = 0x3810,
    Y_OFFSET = 0x3812,
    X_INCREMENT = 0x3814,
    Y_INCREMENT = 0x3815,
    VERTICAL = 0x3820,
    HORIZONTAL = 0x3821,
    MAX_EXPOSURE_60 = 0x3A02,
    MAX_EXPOSURE_50 = 0x3A14,
    FORMAT = 0x4300,
    POLARITY = 0x4740,
    ISP_CONTROL_0 = 0x5000,
    ISP_CONTROL_1 = 0x5001,
    FORMAT_SOURCE = 0x501F,
};

/* The part that is scaled, in pairs of pixels. The chip drops a border of 16 columns and 6 lines on each side of it. */
#define IS_WIDE (CAMERA_CHIP_WIDTH * 960 >= CAMERA_CHIP_HEIGHT * 1280)
#define PART_WIDTH (IS_WIDE ? 1280 : CAMERA_CHIP_WIDTH * 960 / CAMERA_CHIP_HEIGHT / 4 * 4)
#define PART_HEIGHT (IS_WIDE ? CAMERA_CHIP_HEIGHT * 1280 / CAMERA_CHIP_WIDTH / 4 * 4 : 960)
#define FIRST_COLUMN (1280 - PART_WIDTH)
#define FIRST_LINE (4 + 960 - PART_HEIGHT)
#define LAST_COLUMN (FIRST_COLUMN + 2 * PART_WIDTH + 64 - 1)
#define LAST_LINE (FIRST_LINE + 2 * PART_HEIGHT + 24 - 1)
/* Periods of the clock in a line, before it is divided by 1, 2, 4 or 8. A line has at least 1896. */
#define PERIODS (CAMERA_CHIP_ROW_US * CAMERA_CHIP_HEIGHT / PART_HEIGHT * (CAMERA_CLOCK_HZ / 1000) / 1000)
#define HALVES (PERIODS >= 8 * 1896 ? 3 : PERIODS >= 4 * 1896 ? 2 : PERIODS >= 2 * 1896 ? 1 : 0)
#define LENGTH (PERIODS >> HALVES)
#define LINES (CAMERA_FRAME_US / (CAMERA_CHIP_ROW_US * CAMERA_CHIP_HEIGHT / PART_HEIGHT))
typedef char ov5640_size_is_possible[CAMERA_CHIP_WIDTH % 2 == 0 && CAMERA_CHIP_HEIGHT % 2 == 0 ? 1 : -1];
typedef char ov5640_row_time_is_possible[LENGTH >= 1896 && LENGTH <= 8191 ? 1 : -1];
typedef char ov5640_frame_time_is_possible[LINES >= 984 && LINES <= 65535 ? 1 : -1];

#define WORD(number, value) \
    {number, (uint8_t)((value) >> 8)}, { (number) + 1, (uint8_t)(value) }

const uint32_t camera_chip_valid_high = 0;
const uint32_t camera_chip_valid_at_rise = 1;

static const camera_setting settings[] = {
    {SYSTEM_CONTROL, 0x42}, /* no rows while registers change */
    {SYSTEM_CLOCK, 0x11},   /* the clock at the chip */
    {ROOT_DIVIDER, HALVES},
    {PAD_OUTPUT_1, 0xFF},
    {PAD_OUTPUT_2, 0xFC},
    WORD(X_START, FIRST_COLUMN),
    WORD(Y_START, FIRST_LINE),
    WORD(X_END, LAST_COLUMN),
    WORD(Y_END, LAST_LINE),
    WORD(OUTPUT_WIDTH, CAMERA_CHIP_WIDTH),
    WORD(OUTPUT_HEIGHT, CAMERA_CHIP_HEIGHT),
    WORD(LINE_LENGTH, LENGTH),
    WORD(FRAME_LENGTH, LINES),
    WORD(X_OFFSET, 16),
    WORD(Y_OFFSET, 6),
    {X_INCREMENT, 0x31},
    {Y_INCREMENT, 0x31},
    {VERTICAL, 0x41},   /* lines of a color are joined */
    {HORIZONTAL, 0x01}, /* columns too */
    {AEC_MANUAL, 0},
    WORD(MAX_EXPOSURE_60, LINES - 4),
    WORD(MAX_EXPOSURE_50, LINES - 4),
    {FORMAT, CAMERA_CHIP_SENDS == CAMERA_SENDS_GREY     ? 0x10
             : CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 0x61
             : CAMERA_CHIP_SENDS == CAMERA_SENDS_YUYV   ? 0x30
                                                        : 0x32},
    {FORMAT_SOURCE, CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? 1 : 0},
    {POLARITY, 0x21}, /* pixels are valid at the rising edge, VSYNC is high between frames */
    {ISP_CONTROL_0, 0xA7},
    {ISP_CONTROL_1, 0xA3}, /* scaling, color matrix and white balance */
    {SYSTEM_CONTROL, 0x02},
};

uint32_t camera_chip_start(void)
{
    const uint32_t problem = camera_identify(CHIP_ID, 0x5640, 0xFFFF, WIDE);
    if (problem) {
        return problem;
    }
    static const camera_setting reset[] = {{SYSTEM_CLOCK, 0x11}, {SYSTEM_CONTROL, 0x82}};
    const uint32_t is_gone = camera_set_all(reset, 2, WIDE);
    camera_bus_wait(10);
    return is_gone ? is_gone : camera_set_all(settings, sizeof settings / sizeof *settings, WIDE);
}
