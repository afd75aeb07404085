/* A camera at an RP2040 or RP2350, with 8 data lines, or with one (CAMERA_DATA_BITS in app_pins.h). A state machine of
 * the PIO takes the pixels; two DMA channels fill two rows in turn; the interrupt of a row hands over its middle. No frame
 * is in memory. The edge of VSYNC after each frame starts the machine and the channels again, so bytes that were lost
 * damage one frame only.
 *
 * camera_start() returns what camera_chip.h lists, 3 if no PIO has room for the program, and 4 if there are no two DMA
 * channels left.
 *
 * Compiled and linked with the Pico SDK; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "camera.h"
#include "camera_bus.h"
#include "camera_chip.h"
#include "camera_rows.h"
#include "console.h"
#include "rp2_blocks.h"
#include "rp2_camera_program.h"
#include <hardware/clocks.h>
#include <hardware/gpio.h>
#include <hardware/pio.h>
#include <hardware/pwm.h>
#include <hardware/timer.h>

enum { ROW_BYTES = CAMERA_CHIP_WIDTH * CAMERA_CHIP_PIXEL, NO_MACHINE = CAMERA_OTHER_PROBLEM, NO_CHANNELS };

static uint8_t rows[2][ROW_BYTES];
static uint32_t frame, row; /* that arrive */
static PIO pio;
static uint32_t machine, offset;

static void receive(void)
{
    const uint32_t ticks = time_us_32();
    for (uint32_t k = 0; k < 2; k++) {
        if (rp2_took_block(k, rows[k])) {
            camera_hand_over(rows[k] + CAMERA_LEFT * CAMERA_CHIP_PIXEL, frame, row, ticks);
            row++;
        }
    }
}

/* Makes machine and channels ready for the first row of a frame. */
static void begin_frame(void)
{
    const uint32_t both = 1u << rp2_channels[0] | 1u << rp2_channels[1];
    pio_sm_set_enabled(pio, machine, false);
    for (uint32_t k = 0; k < 2; k++) { /* an aborted channel may ask for its interrupt (RP2040-E13) */
        dma_channel_set_irq0_enabled((uint32_t)rp2_channels[k], false);
    }
    dma_hw->abort = both;
    while (dma_hw->abort & both) {
    }
    for (uint32_t k = 0; k < 2; k++) {
        dma_channel_acknowledge_irq0((uint32_t)rp2_channels[k]);
        dma_channel_set_irq0_enabled((uint32_t)rp2_channels[k], true);
        dma_channel_set_write_addr((uint32_t)rp2_channels[k], rows[k], false);
        dma_channel_set_trans_count((uint32_t)rp2_channels[k], ROW_BYTES, false);
    }
    pio_sm_clear_fifos(pio, machine);
    pio_sm_restart(pio, machine);
    pio_sm_exec(pio, machine, pio_encode_jmp(offset));
    dma_channel_start((uint32_t)rp2_channels[0]);
    pio_sm_set_enabled(pio, machine, true);
    row = 0;
}

static void end_frame(void)
{
    const uint32_t edge = camera_chip_valid_high ? GPIO_IRQ_EDGE_FALL : GPIO_IRQ_EDGE_RISE;
    if (gpio_get_irq_event_mask(CAMERA_VSYNC_PIN) & edge) {
        gpio_acknowledge_irq(CAMERA_VSYNC_PIN, edge);
        frame++;
        begin_frame();
    }
}

/* Gives the chip its clock, unless its module has one. The frequency is the nearest one above. */
static void start_clock(void)
{
#if CAMERA_CLOCK_PIN >= 0
    const uint32_t periods = clock_get_hz(clk_sys) / CAMERA_CLOCK_HZ,
                   slice = pwm_gpio_to_slice_num(CAMERA_CLOCK_PIN);
    gpio_set_function(CAMERA_CLOCK_PIN, GPIO_FUNC_PWM);
    pwm_set_wrap(slice, (uint16_t)(periods - 1u));
    pwm_set_gpio_level(CAMERA_CLOCK_PIN, (uint16_t)(periods / 2u));
    pwm_set_enabled(slice, true);
#endif
}

static uint32_t start_machine(void)
{
    static uint16_t instructions[RP2_CAMERA_LENGTH];
    static const struct pio_program program = {
        .instructions = instructions, .length = RP2_CAMERA_LENGTH, .origin = -1};
    rp2_camera_program(instructions, CAMERA_PIXEL_CLOCK_PIN, CAMERA_DATA_BITS);
    pio = pio_can_add_program(pio0, &program) ? pio0 : pio1;
    if (!pio_can_add_program(pio, &program)) {
        return 0;
    }
    const int claimed = pio_claim_unused_sm(pio, false);
    if (claimed < 0) {
        return 0;
    }
    machine = (uint32_t)claimed;
    offset = (uint32_t)pio_add_program(pio, &program);
    pio_sm_config settings = pio_get_default_sm_config();
    sm_config_set_wrap(&settings, offset + RP2_CAMERA_WRAP_TARGET, offset + RP2_CAMERA_WRAP);
    sm_config_set_in_pins(&settings, CAMERA_DATA_PIN);
    sm_config_set_jmp_pin(&settings, CAMERA_HREF_PIN);
    sm_config_set_in_shift(&settings, false, true, 8); /* the first bit becomes the highest one of a byte */
    sm_config_set_fifo_join(&settings, PIO_FIFO_JOIN_RX);
    pio_sm_set_consecutive_pindirs(pio, machine, CAMERA_DATA_PIN, CAMERA_DATA_BITS, false);
    for (uint32_t k = 0; k < CAMERA_DATA_BITS; k++) {
        pio_gpio_init(pio, CAMERA_DATA_PIN + k);
    }
    pio_sm_init(pio, machine, offset, &settings);
    return 1;
}

uint32_t camera_start(void)
{
    static const uint8_t inputs[] = {CAMERA_PIXEL_CLOCK_PIN, CAMERA_HREF_PIN, CAMERA_VSYNC_PIN};
    start_clock();
    camera_bus_wait(10);
    const uint32_t problem = camera_chip_start();
    if (problem) {
        return problem;
    }
    for (uint32_t k = 0; k < sizeof inputs; k++) {
        gpio_init(inputs[k]);
    }
    if (!start_machine()) {
        console_note("No PIO has room for the camera's program.");
        return NO_MACHINE;
    }
    if (!rp2_claim_channels()) {
        console_note("There are no two DMA channels left for the camera.");
        return NO_CHANNELS;
    }
    const rp2_source source = {&pio->rxf[machine], DMA_SIZE_8, ROW_BYTES, pio_get_dreq(pio, machine, false)};
    rp2_start_blocks(&source, rows[0], rows[1],
                     receive); /* waits for the first byte; the machine does not run yet */
    frame = UINT32_MAX;        /* rows before the first edge are not handed over */
    row = CAMERA_CHIP_HEIGHT;
    gpio_add_raw_irq_handler(CAMERA_VSYNC_PIN, end_frame);
    gpio_set_irq_enabled(CAMERA_VSYNC_PIN, camera_chip_valid_high ? GPIO_IRQ_EDGE_FALL : GPIO_IRQ_EDGE_RISE,
                         true);
    irq_set_enabled(IO_IRQ_BANK0, true);
    return CAMERA_OK;
}

void camera_poll(void) {}
