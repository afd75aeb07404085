/* HM01B0 of Himax: gray pixels of 8 bits. Registers: data sheet of the HM01B0, register table.
 *
 * A row lasts LINE_LENGTH_PCK periods of the pixel clock, and a frame FRAME_LENGTH_LINES rows, so both times of the
 * application are set exactly. With CAMERA_DATA_BITS of 1, the chip sends one bit after the other, the highest first, and
 * the pixel clock is an eighth of CAMERA_CLOCK_HZ. */
#include "camera_registers.h"

enum {
    WIDE = 1,
    MODEL_ID = 0x0000,
    MODE_SELECT = 0x0100,
    SW_RESET = 0x0103,
    GROUP_HOLD = 0x0104,
    FRAME_LENGTH_LINES = 0x0340,
    LINE_LENGTH_PCK = 0x0342,
    READOUT_X = 0x0383,
    READOUT_Y = 0x0387,
    BINNING_MODE = 0x0390,
    AE_CONTROL = 0x2100,
    MAX_INTEGRATION = 0x2105,
    WINDOW_ENABLE = 0x3010,
    BIT_CONTROL = 0x3059,
    CLOCK_DIVIDER = 0x3060,
};

#define IS_BINNED (CAMERA_CHIP_WIDTH <= 162)
#define IS_WINDOW (CAMERA_CHIP_HEIGHT <= 244)
/* Periods of the pixel clock in a row, if it is an eighth of the clock. */
#define PERIODS (CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 8000) / 1000)
#define ROWS (CAMERA_FRAME_US / CAMERA_CHIP_ROW_US)
#define MIN_PERIODS (IS_BINNED ? 215 : 376)
#if CAMERA_DATA_BITS == 1 || CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 8000) / 1000 >= 376
#define SHIFT 0 /* the pixel clock is CAMERA_CLOCK_HZ / (8 >> SHIFT) */
#elif CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 8000) / 1000 >= 188
#define SHIFT 1
#elif CAMERA_CHIP_ROW_US * (CAMERA_CLOCK_HZ / 8000) / 1000 >= 94
#define SHIFT 2
#else
#define SHIFT 3
#endif
#define LENGTH (PERIODS << SHIFT)
/* The compiler refuses an array of negative size. */
typedef char hm01b0_row_time_is_possible[LENGTH >= MIN_PERIODS && LENGTH <= 65535 ? 1 : -1];
typedef char hm01b0_frame_time_is_possible[ROWS >= CAMERA_CHIP_HEIGHT + 6 && ROWS <= 65535 ? 1 : -1];

const uint32_t camera_chip_valid_high = 1;
const uint32_t camera_chip_valid_at_rise = 1;

static const camera_setting settings[] = {
    {READOUT_X, IS_BINNED ? 3 : 1}, /* 3: two pixels become one */
    {READOUT_Y, IS_BINNED ? 3 : 1},
    {BINNING_MODE, IS_BINNED ? 3 : 0},
    {WINDOW_ENABLE, IS_WINDOW ? 1 : 0},
    {LINE_LENGTH_PCK, (uint8_t)(LENGTH >> 8)},
    {LINE_LENGTH_PCK + 1, (uint8_t)LENGTH},
    {FRAME_LENGTH_LINES, (uint8_t)(ROWS >> 8)},
    {FRAME_LENGTH_LINES + 1, (uint8_t)ROWS},
    {MAX_INTEGRATION, (uint8_t)((ROWS - 2) >> 8)}, /* rows of exposure */
    {MAX_INTEGRATION + 1, (uint8_t)(ROWS - 2)},
    {AE_CONTROL, 1},
    {BIT_CONTROL, CAMERA_DATA_BITS == 1 ? 0x22 : 0x02},
    {CLOCK_DIVIDER, 0x20 | 0x10 | 0x08 | SHIFT}, /* no clock between rows, highest bit first */
    {GROUP_HOLD, 1},
    {MODE_SELECT, 1},
};

uint32_t camera_chip_start(void)
{
    const uint32_t problem = camera_identify(MODEL_ID, 0x01B0, 0xFFFF, WIDE);
    if (problem) {
        return problem;
    }
    const camera_setting reset = {SW_RESET, 0};
    const uint32_t is_gone = camera_set_all(&reset, 1, WIDE);
    camera_bus_wait(10);
    return is_gone ? is_gone : camera_set_all(settings, sizeof settings / sizeof *settings, WIDE);
}
