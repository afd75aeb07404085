/* A PDM microphone at an RP2040 or RP2350. A state machine of the PIO makes the clock, 64 periods per sample, and takes
 * a bit at each rising edge; DMA channels fill two blocks in turn; the interrupt of a block filters its bits.
 *
 * sensor_start() returns 1 if no PIO has room for the program, and 2 if there are no four DMA channels left.
 *
 * Compiled with the Pico SDK's headers; never run on a board. */
#include "app_pins.h"
#include "pdm_decimator.h"
#include "rp2_blocks.h"
#include "sensor.h"
#include <hardware/clocks.h>
#include <hardware/pio.h>

enum { BLOCK_SAMPLES = 160, BLOCK_WORDS = BLOCK_SAMPLES * PDM_WORDS }; /* 10 ms at 16 kHz */

static uint32_t blocks[2][BLOCK_WORDS];

static void receive(void)
{
    static int16_t samples[BLOCK_SAMPLES];
    for (uint32_t k = 0, missed; k < 2; k++) {
        if (rp2_took_block(k, &missed)) {
            pdm_decimate(blocks[k], BLOCK_SAMPLES, samples);
            sensor_write(samples, BLOCK_SAMPLES, missed * BLOCK_SAMPLES);
        }
    }
}

static void start_machine(PIO pio, uint32_t machine, uint32_t offset, uint32_t rate)
{
    pio_sm_config settings = pio_get_default_sm_config();
    sm_config_set_wrap(&settings, offset, offset + 1u);
    sm_config_set_sideset(&settings, 1, false, false);
    sm_config_set_sideset_pins(&settings, APP_PDM_CLOCK_PIN);
    sm_config_set_in_pins(&settings, APP_PDM_DATA_PIN);
    sm_config_set_in_shift(&settings, false, true, 32); /* the first bit becomes the highest one */
    sm_config_set_fifo_join(&settings, PIO_FIFO_JOIN_RX);
    /* Two instructions per bit. The divider has 8 fractional bits. */
    const uint32_t divider =
        (uint32_t)(((uint64_t)clock_get_hz(clk_sys) << 8) / (2u * 32u * PDM_WORDS * rate));
    sm_config_set_clkdiv_int_frac(&settings, (uint16_t)(divider >> 8), (uint8_t)divider);
    pio_gpio_init(pio, APP_PDM_CLOCK_PIN);
    pio_gpio_init(pio, APP_PDM_DATA_PIN);
    pio_sm_set_consecutive_pindirs(pio, machine, APP_PDM_CLOCK_PIN, 1, true);
    pio_sm_set_consecutive_pindirs(pio, machine, APP_PDM_DATA_PIN, 1, false);
    pio_sm_init(pio, machine, offset, &settings);
}

uint32_t sensor_start(uint32_t rate)
{
    static const uint16_t instructions[] = {0xA042, 0x5001}; /* nop side 0; in pins, 1 side 1 */
    static const struct pio_program program = {.instructions = instructions, .length = 2, .origin = -1};
    PIO pio = pio0;
    if (!pio_can_add_program(pio, &program)) {
        pio = pio1;
        if (!pio_can_add_program(pio, &program)) {
            return 1;
        }
    }
    const int machine = pio_claim_unused_sm(pio, false);
    if (machine < 0) {
        return 1;
    }
    if (!rp2_claim_channels()) {
        return 2;
    }
    start_machine(pio, (uint32_t)machine, (uint32_t)pio_add_program(pio, &program), rate);
    const rp2_source source = {&pio->rxf[machine], DMA_SIZE_32, BLOCK_WORDS,
                               pio_get_dreq(pio, (uint32_t)machine, false), BLOCK_SAMPLES * 1000000u / rate};
    rp2_start_blocks(&source, blocks[0], blocks[1], receive);
    pio_sm_set_enabled(pio, (uint32_t)machine, true);
    return 0;
}

void sensor_poll(void) {}
