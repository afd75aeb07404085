/* A PDM microphone at the nRF52840's PDM interface, which decimates in hardware: 1.280 MHz / 80 = 16,000 samples per
 * second. EasyDMA fills two blocks in turn.
 *
 * sensor_start() returns 1 for another rate.
 *
 * Compiled with Nordic's MDK headers; never run on a board. */
#include "app_pins.h"
#include "sensor.h"
#include <nrf.h>

enum { BLOCK_SAMPLES = 160 }; /* 10 ms */

static int16_t blocks[2][BLOCK_SAMPLES];

static uint32_t address(const int16_t *block) { return (uint32_t)(uintptr_t)block; }

/* The DMA has begun to fill a block, so the block before it is complete, and will be filled next. */
void PDM_IRQHandler(void)
{
    static uint32_t started;
    if (!NRF_PDM->EVENTS_STARTED) {
        return;
    }
    NRF_PDM->EVENTS_STARTED = 0;
    (void)NRF_PDM
        ->EVENTS_STARTED; /* waits until the write has arrived, so that the handler is not called again */
    const int16_t *other = blocks[(started & 1u) ^ 1u];
    NRF_PDM->SAMPLE.PTR = address(other);
    if (started++) {
        sensor_write(other, BLOCK_SAMPLES, 0);
    }
}

uint32_t sensor_start(uint32_t rate)
{
    if (rate != 16000u) {
        return 1;
    }
    NRF_CLOCK->EVENTS_HFCLKSTARTED = 0;
    NRF_CLOCK->TASKS_HFCLKSTART = 1;
    while (!NRF_CLOCK->EVENTS_HFCLKSTARTED) {
    }
    NRF_GPIO_Type *const ports[] = {NRF_P0, NRF_P1};
    ports[APP_PDM_CLOCK_PIN / 32u]->PIN_CNF[APP_PDM_CLOCK_PIN % 32u] = GPIO_PIN_CNF_DIR_Output;
    ports[APP_PDM_DATA_PIN / 32u]->PIN_CNF[APP_PDM_DATA_PIN % 32u] = 0; /* an input */
    NRF_PDM->PSEL.CLK = APP_PDM_CLOCK_PIN;                              /* bit 5 is the port */
    NRF_PDM->PSEL.DIN = APP_PDM_DATA_PIN;
    NRF_PDM->PDMCLKCTRL = PDM_PDMCLKCTRL_FREQ_1280K;
    NRF_PDM->RATIO = PDM_RATIO_RATIO_Ratio80 << PDM_RATIO_RATIO_Pos;
    NRF_PDM->MODE = (PDM_MODE_OPERATION_Mono << PDM_MODE_OPERATION_Pos) |
                    (PDM_MODE_EDGE_LeftFalling << PDM_MODE_EDGE_Pos);
    NRF_PDM->GAINL = PDM_GAINL_GAINL_DefaultGain;
    NRF_PDM->SAMPLE.PTR = address(blocks[0]);
    NRF_PDM->SAMPLE.MAXCNT = BLOCK_SAMPLES;
    NRF_PDM->INTENSET = PDM_INTENSET_STARTED_Msk;
    NVIC_ClearPendingIRQ(PDM_IRQn);
    NVIC_EnableIRQ(PDM_IRQn);
    NRF_PDM->ENABLE = PDM_ENABLE_ENABLE_Enabled;
    NRF_PDM->TASKS_START = 1;
    return 0;
}

void sensor_poll(void) {}
