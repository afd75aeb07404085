/* The analog-to-digital converter of a SAMD21 with DMA. Timer TC4 starts each conversion through event channel 0, the
 * converter goes through neighboring inputs from ADC_FIRST on, and DMA channel 0 fills two blocks in turn. ADC_PINS in
 * app_pins.h lists port and pin of each input. A value has 12 bits, 0 to 4095 for 0 V to the supply.
 *
 * sensor_start() returns 2 if the rate is too low or too high for the timer and the converter.
 *
 * Compiled with Microchip's device headers; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "sensor.h"
#include <sam.h>

enum {
    ROUNDS = 4,
    TIMER_HZ = 48000000 / 64,
    MIN_TICKS = 16,
    FUNCTION_ADC = 1,
    VALUES = ROUNDS * SENSOR_CHANNELS
};

typedef struct {
    uint8_t port, pin;
} input;

static const input inputs[] = {ADC_PINS};
typedef char adc_has_enough_inputs[sizeof inputs / sizeof *inputs >= SENSOR_CHANNELS ? 1 : -1];
static volatile uint16_t blocks[2][VALUES];
static DmacDescriptor first __attribute__((aligned(16))), second __attribute__((aligned(16)));
static volatile DmacDescriptor in_use __attribute__((aligned(16)));

static uint32_t address(const volatile void *of) { return (uint32_t)(uintptr_t)of; }

void DMAC_Handler(void)
{
    static uint32_t full;
    DMAC->CHID.reg = 0;
    DMAC->CHINTFLAG.reg = DMAC_CHINTFLAG_TCMPL;
    int16_t samples[VALUES];
    for (uint32_t k = 0; k < VALUES; k++) {
        samples[k] = (int16_t)blocks[full & 1u][k];
    }
    full++;
    sensor_write(samples, ROUNDS, 0);
}

/* Gives a generic clock of 48 MHz to a peripheral. */
static void start_clock(uint32_t id)
{
    GCLK->CLKCTRL.reg = (uint16_t)(GCLK_CLKCTRL_ID(id) | GCLK_CLKCTRL_GEN_GCLK0 | GCLK_CLKCTRL_CLKEN);
    while (GCLK->STATUS.bit.SYNCBUSY) {
    }
}

/* Makes a pin an analog input, which is function B. */
static void connect(input at)
{
    PortGroup *group = &PORT->Group[at.port - 'A'];
    const uint32_t old = group->PMUX[at.pin / 2u].reg;
    group->PMUX[at.pin / 2u].reg =
        (uint8_t)(at.pin % 2u ? (old & 0x0Fu) | FUNCTION_ADC << 4 : (old & 0xF0u) | FUNCTION_ADC);
    group->PINCFG[at.pin].reg = PORT_PINCFG_PMUXEN;
}

static void describe(DmacDescriptor *of, const volatile uint16_t *block, const DmacDescriptor *next)
{
    of->BTCTRL.reg =
        DMAC_BTCTRL_VALID | DMAC_BTCTRL_BLOCKACT_INT | DMAC_BTCTRL_BEATSIZE_HWORD | DMAC_BTCTRL_DSTINC;
    of->BTCNT.reg = VALUES;
    of->SRCADDR.reg = address(&ADC->RESULT.reg);
    of->DSTADDR.reg = address(block + VALUES); /* the address after the last value */
    of->DESCADDR.reg = address(next);
}

static void start_dma(void)
{
    PM->AHBMASK.reg |= PM_AHBMASK_DMAC;
    PM->APBBMASK.reg |= PM_APBBMASK_DMAC;
    describe(&first, blocks[0], &second);
    describe(&second, blocks[1], &first);
    DMAC->CTRL.reg = 0;
    DMAC->BASEADDR.reg = address(&first);
    DMAC->WRBADDR.reg = address(&in_use);
    DMAC->CTRL.reg = DMAC_CTRL_DMAENABLE | DMAC_CTRL_LVLEN(0xF);
    DMAC->CHID.reg = 0;
    DMAC->CHCTRLA.reg = DMAC_CHCTRLA_SWRST;
    while (DMAC->CHCTRLA.reg & DMAC_CHCTRLA_SWRST) {
    }
    DMAC->CHCTRLB.reg = DMAC_CHCTRLB_TRIGSRC(ADC_DMAC_ID_RESRDY) | DMAC_CHCTRLB_TRIGACT_BEAT;
    DMAC->CHINTENSET.reg = DMAC_CHINTENSET_TCMPL;
    NVIC_EnableIRQ(DMAC_IRQn);
    DMAC->CHCTRLA.reg = DMAC_CHCTRLA_ENABLE;
}

static void start_converter(void)
{
    ADC->CTRLA.reg = 0;
    while (ADC->STATUS.bit.SYNCBUSY) {
    }
    ADC->REFCTRL.reg = ADC_REFCTRL_REFSEL_INTVCC1; /* half of the supply */
    ADC->AVGCTRL.reg = 0;
    ADC->SAMPCTRL.reg = 3;
    ADC->CTRLB.reg = ADC_CTRLB_PRESCALER_DIV64 | ADC_CTRLB_RESSEL_12BIT;
    while (ADC->STATUS.bit.SYNCBUSY) {
    }
    ADC->INPUTCTRL.reg = ADC_INPUTCTRL_MUXPOS(ADC_FIRST) | ADC_INPUTCTRL_MUXNEG_GND |
                         ADC_INPUTCTRL_GAIN_DIV2 | ADC_INPUTCTRL_INPUTSCAN(SENSOR_CHANNELS - 1u);
    while (ADC->STATUS.bit.SYNCBUSY) {
    }
    ADC->EVCTRL.reg = ADC_EVCTRL_STARTEI;
    ADC->CTRLA.reg = ADC_CTRLA_ENABLE;
    while (ADC->STATUS.bit.SYNCBUSY) {
    }
}

uint32_t sensor_start(uint32_t rate)
{
    const uint32_t ticks = TIMER_HZ / (rate * SENSOR_CHANNELS);
    if (ticks < MIN_TICKS || ticks > 65536u) {
        return 2;
    }
    PM->APBCMASK.reg |= PM_APBCMASK_ADC | PM_APBCMASK_TC4 | PM_APBCMASK_EVSYS;
    start_clock(ADC_GCLK_ID);
    start_clock(TC4_GCLK_ID);
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        connect(inputs[c]);
    }
    EVSYS->USER.reg =
        (uint16_t)(EVSYS_USER_USER(EVSYS_ID_USER_ADC_START) | EVSYS_USER_CHANNEL(1)); /* channel 0 */
    EVSYS->CHANNEL.reg = EVSYS_CHANNEL_CHANNEL(0) | EVSYS_CHANNEL_EVGEN(EVSYS_ID_GEN_TC4_OVF) |
                         EVSYS_CHANNEL_PATH_ASYNCHRONOUS;
    start_dma();
    start_converter();
    TC4->COUNT16.CTRLA.reg = TC_CTRLA_MODE_COUNT16 | TC_CTRLA_WAVEGEN_MFRQ | TC_CTRLA_PRESCALER_DIV64;
    TC4->COUNT16.CC[0].reg = (uint16_t)(ticks - 1u);
    while (TC4->COUNT16.STATUS.bit.SYNCBUSY) {
    }
    TC4->COUNT16.EVCTRL.reg = TC_EVCTRL_OVFEO;
    TC4->COUNT16.CTRLA.reg |= TC_CTRLA_ENABLE;
    return 0;
}

void sensor_poll(void) {}
