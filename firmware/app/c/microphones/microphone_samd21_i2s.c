/* An I2S microphone at a SAMD21, which is the master: SCK PA10, FS PA11, SD PA07 (all function G; serializer 0). A frame
 * has two slots of 32 bits; the left one holds a sample in its upper bits. An interrupt takes each slot.
 *
 * Generic clock 3 is 48 MHz / 47 = 1.0213 MHz, so there are 15,957 instead of 16,000 samples per second (-0.27 %).
 * sensor_start() returns 1 for another rate than 16,000.
 *
 * Compiled with Microchip's device headers; never run on a board. */
#include "sensor.h"
#include <sam.h>

enum { CLOCK = 3, DIVIDER = 47, BLOCK_SAMPLES = 16 };

static int16_t block[BLOCK_SAMPLES];
static uint32_t block_count, block_lost, is_right;

static void hand_over(void)
{
    sensor_write(block, block_count, block_lost);
    block_count = 0;
    block_lost = 0;
}

void I2S_Handler(void)
{
    const uint32_t flags = I2S->INTFLAG.reg;
    if (flags & I2S_INTFLAG_RXRDY0) {
        const uint32_t slot = I2S->DATA[0].reg;
        if (!is_right) {
            block[block_count++] = (int16_t)(slot >> 16);
            if (block_count == BLOCK_SAMPLES) {
                hand_over();
            }
        }
        is_right ^= 1u;
    }
    if (flags & I2S_INTFLAG_RXOR0) { /* the slot after the one that was just read found no room */
        I2S->INTFLAG.reg = I2S_INTFLAG_RXOR0;
        if (!is_right) {
            hand_over();
            block_lost = 1;
        }
        is_right ^= 1u;
    }
}

/* Gives a pin of port A to I2S, which is function G. */
static void connect(uint32_t pin)
{
    PORT->Group[0].PINCFG[pin].reg = PORT_PINCFG_PMUXEN;
    const uint32_t old = PORT->Group[0].PMUX[pin / 2u].reg;
    PORT->Group[0].PMUX[pin / 2u].reg =
        (uint8_t)(pin % 2u ? (old & 0x0Fu) | PORT_PMUX_PMUXO_G : (old & 0xF0u) | PORT_PMUX_PMUXE_G);
}

uint32_t sensor_start(uint32_t rate)
{
    if (rate != 16000u) {
        return 1;
    }
    PM->APBCMASK.reg |= PM_APBCMASK_I2S;
    GCLK->GENDIV.reg = GCLK_GENDIV_ID(CLOCK) | GCLK_GENDIV_DIV(DIVIDER);
    GCLK->GENCTRL.reg =
        GCLK_GENCTRL_ID(CLOCK) | GCLK_GENCTRL_SRC_DFLL48M | GCLK_GENCTRL_IDC | GCLK_GENCTRL_GENEN;
    while (GCLK->STATUS.bit.SYNCBUSY) {
    }
    GCLK->CLKCTRL.reg =
        (uint16_t)(GCLK_CLKCTRL_ID(I2S_GCLK_ID_0) | GCLK_CLKCTRL_GEN(CLOCK) | GCLK_CLKCTRL_CLKEN);
    while (GCLK->STATUS.bit.SYNCBUSY) {
    }
    connect(10);
    connect(11);
    connect(7);
    I2S->CTRLA.reg = 0;
    while (I2S->SYNCBUSY.bit.ENABLE) {
    }
    I2S->CLKCTRL[0].reg = I2S_CLKCTRL_SLOTSIZE_32 | I2S_CLKCTRL_NBSLOTS(1) | I2S_CLKCTRL_FSWIDTH_HALF |
                          I2S_CLKCTRL_BITDELAY_I2S | I2S_CLKCTRL_FSSEL_SCKDIV | I2S_CLKCTRL_SCKSEL_MCKDIV;
    I2S->SERCTRL[0].reg =
        I2S_SERCTRL_SERMODE_RX | I2S_SERCTRL_CLKSEL_CLK0 | I2S_SERCTRL_DATASIZE_32 | I2S_SERCTRL_SLOTADJ_LEFT;
    I2S->INTENSET.reg = I2S_INTENSET_RXRDY0 | I2S_INTENSET_RXOR0;
    NVIC_EnableIRQ(I2S_IRQn);
    I2S->CTRLA.reg = I2S_CTRLA_ENABLE | I2S_CTRLA_CKEN0 | I2S_CTRLA_SEREN0;
    return 0;
}

void sensor_poll(void) {}
