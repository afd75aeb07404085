/* A camera at the DCMI of an STM32F4, STM32F7 or STM32H7, with 8 data lines. DCMI cuts the middle of the frame; DMA2
 * stream 1 fills two rows in turn; its interrupt hands over each row. No frame is in memory. After each frame the stream
 * starts again, so bytes that were lost damage one frame only.
 *
 * CAMERA_PINS in app_pins.h lists the pins, all with alternate function 13: PCLK, HSYNC, VSYNC, D0 to D7. The clock at
 * the chip is CAMERA_CLOCK_HZ: MCO1 on PA8, which gives 16 MHz, or the output of a timer: CAMERA_CLOCK_TIMER is 1 for
 * channel 1 of timer 1 on PK1, 3 for channel 2 of timer 3 on PA7.
 *
 * camera_start() returns what camera_chip.h lists.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "camera.h"
#include "camera_bus.h"
#include "camera_chip.h"
#include "camera_rows.h"
#include "port.h"
#if defined(CAMERA_STM32H7)
#include <stm32h7xx.h>
#define PORT_CLOCKS RCC->AHB4ENR
#elif defined(CAMERA_STM32F7)
#include <stm32f7xx.h>
#define PORT_CLOCKS RCC->AHB1ENR
#else
#include <stm32f4xx.h>
#define PORT_CLOCKS RCC->AHB1ENR
#endif

enum {
    WORDS = (CAMERA_WIDTH * CAMERA_CHIP_PIXEL + 3u) / 4u,
    STRIDE = (WORDS + 7u) / 8u * 8u, /* words; a row begins and ends with a line of the cache */
    FUNCTION_DCMI = 13,
    STREAM_FLAGS = DMA_LIFCR_CTCIF1 | DMA_LIFCR_CHTIF1 | DMA_LIFCR_CTEIF1 | DMA_LIFCR_CDMEIF1 |
        DMA_LIFCR_CFEIF1
};
/* The compiler refuses an array of negative size: DCMI takes whole words, so up to 3 bytes more than a row. */
typedef char dcmi_row_is_inside
    [CAMERA_LEFT * CAMERA_CHIP_PIXEL + 4u * WORDS <= CAMERA_CHIP_WIDTH * CAMERA_CHIP_PIXEL ? 1 : -1];

typedef struct {
    char port;
    uint8_t number;
} pin;

static uint32_t rows[2][STRIDE] __attribute__((aligned(32)));
static uint32_t frame, row; /* that arrive; rows are counted from CAMERA_TOP on */

static void receive(void)
{
    if (!(DMA2->LISR & DMA_LISR_TCIF1)) {
        return;
    }
    DMA2->LIFCR = DMA_LIFCR_CTCIF1;
    uint32_t *full = rows[DMA2_Stream1->CR & DMA_SxCR_CT ? 0 : 1];
#if defined(__DCACHE_PRESENT) && __DCACHE_PRESENT
    SCB_InvalidateDCache_by_Addr(full, (int32_t)sizeof rows[0]);
#endif
    camera_hand_over((const uint8_t *)full, frame, CAMERA_TOP + row, port_ticks());
    row++;
}

static void start_stream(void)
{
    DMA2_Stream1->CR &= ~DMA_SxCR_EN;
    while (DMA2_Stream1->CR & DMA_SxCR_EN) {
    }
    DMA2->LIFCR = STREAM_FLAGS;
    DMA2_Stream1->PAR = (uint32_t)(uintptr_t)&DCMI->DR;
    DMA2_Stream1->M0AR = (uint32_t)(uintptr_t)rows[0];
    DMA2_Stream1->M1AR = (uint32_t)(uintptr_t)rows[1];
    DMA2_Stream1->NDTR = WORDS;
    DMA2_Stream1->FCR = 0;
    DMA2_Stream1->CR = DMA_SxCR_PSIZE_1 | DMA_SxCR_MSIZE_1 | DMA_SxCR_MINC | DMA_SxCR_DBM | DMA_SxCR_CIRC |
                       DMA_SxCR_PL_1 | DMA_SxCR_TCIE;
#ifdef DMA_SxCR_CHSEL_0
    DMA2_Stream1->CR |= DMA_SxCR_CHSEL_0; /* channel 1 of the stream is DCMI */
#endif
    DMA2_Stream1->CR |= DMA_SxCR_EN;
    row = 0;
}

void DMA2_Stream1_IRQHandler(void) { receive(); }

/* The frame is complete, or a row was lost. */
void DCMI_IRQHandler(void)
{
    const uint32_t flags = DCMI->RISR;
    DCMI->ICR = DCMI_ICR_FRAME_ISC | DCMI_ICR_OVR_ISC;
    if (flags & DCMI_RIS_FRAME_RIS) {
        receive(); /* the last row, if its interrupt waits behind this one */
        frame++;
        start_stream();
    }
}

static void connect(pin at, uint32_t function)
{
    GPIO_TypeDef *port = (GPIO_TypeDef *)(GPIOA_BASE + 0x400u * (uint32_t)(at.port - 'A'));
    PORT_CLOCKS |= 1u << (at.port - 'A');
    (void)PORT_CLOCKS; /* the clock runs after this read */
    port->MODER = (port->MODER & ~(3u << 2 * at.number)) | (2u << 2 * at.number);
    port->OSPEEDR |= 3u << 2 * at.number;
    port->AFR[at.number / 8u] =
        (port->AFR[at.number / 8u] & ~(15u << 4 * (at.number % 8u))) | function << 4 * (at.number % 8u);
}

#ifdef CAMERA_CLOCK_TIMER
static void start_timer(TIM_TypeDef *timer, uint32_t periods)
{
    timer->PSC = 0;
    timer->ARR = periods - 1u;
    timer->EGR = TIM_EGR_UG;
    timer->CR1 = TIM_CR1_CEN;
}

/* The timers of an STM32H7 run at half of the core's clock, as Arduino's core sets it up. */
static void start_clock(void)
{
    const uint32_t periods = SystemCoreClock / 2u / CAMERA_CLOCK_HZ;
#if CAMERA_CLOCK_TIMER == 1
    const pin at = {'K', 1};
    RCC->APB2ENR |= RCC_APB2ENR_TIM1EN;
    (void)RCC->APB2ENR;
    connect(at, 1);
    TIM1->CCR1 = periods / 2u;
    TIM1->CCMR1 = TIM_CCMR1_OC1M_2 | TIM_CCMR1_OC1M_1 | TIM_CCMR1_OC1PE; /* PWM mode 1 */
    TIM1->CCER = TIM_CCER_CC1E;
    TIM1->BDTR = TIM_BDTR_MOE;
    start_timer(TIM1, periods);
#else
    const pin at = {'A', 7};
    RCC->APB1LENR |= RCC_APB1LENR_TIM3EN;
    (void)RCC->APB1LENR;
    connect(at, 2);
    TIM3->CCR2 = periods / 2u;
    TIM3->CCMR1 = TIM_CCMR1_OC2M_2 | TIM_CCMR1_OC2M_1 | TIM_CCMR1_OC2PE; /* PWM mode 1 */
    TIM3->CCER = TIM_CCER_CC2E;
    start_timer(TIM3, periods);
#endif
}
#else
/* MCO1 is the internal oscillator: 16 MHz, or 64 MHz / 4 of an STM32H7. */
static void start_clock(void)
{
    const pin at = {'A', 8};
    RCC->CR |= RCC_CR_HSION;
    while (!(RCC->CR & RCC_CR_HSIRDY)) {
    }
    RCC->CFGR &= ~(RCC_CFGR_MCO1 | RCC_CFGR_MCO1PRE);
#ifdef CAMERA_STM32H7
    RCC->CFGR |= RCC_CFGR_MCO1PRE_2;
#endif
    connect(at, 0);
}
#endif

uint32_t camera_start(void)
{
    static const pin pins[] = {CAMERA_PINS};
    start_clock();
    camera_bus_wait(10);
    const uint32_t problem = camera_chip_start();
    if (problem) {
        return problem;
    }
    for (uint32_t k = 0; k < sizeof pins / sizeof *pins; k++) {
        connect(pins[k], FUNCTION_DCMI);
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_DMA2EN;
    RCC->AHB2ENR |= RCC_AHB2ENR_DCMIEN;
    (void)RCC->AHB2ENR;
#ifdef CAMERA_STM32H7
    DMAMUX1_Channel9->CCR = 75; /* DMA2 stream 1 serves DCMI */
#endif
    frame = UINT32_MAX; /* the rest of a frame that has begun is not taken */
    start_stream();
    row = CAMERA_HEIGHT;
    DCMI->CWSTRTR = CAMERA_TOP << DCMI_CWSTRT_VST_Pos | CAMERA_LEFT * CAMERA_CHIP_PIXEL;
    DCMI->CWSIZER = (CAMERA_HEIGHT - 1u) << DCMI_CWSIZE_VLINE_Pos | (4u * WORDS - 1u);
    /* The polarities of HSYNC and VSYNC are the levels at which pixels are not valid. */
    DCMI->CR = DCMI_CR_CROP | (camera_chip_valid_at_rise ? DCMI_CR_PCKPOL : 0) |
               (camera_chip_valid_high ? 0 : DCMI_CR_VSPOL);
    DCMI->ICR = DCMI_ICR_FRAME_ISC | DCMI_ICR_OVR_ISC;
    DCMI->IER = DCMI_IER_FRAME_IE;
    NVIC_EnableIRQ(DMA2_Stream1_IRQn);
    NVIC_EnableIRQ(DCMI_IRQn);
    DCMI->CR |= DCMI_CR_ENABLE;
    DCMI->CR |= DCMI_CR_CAPTURE;
    return CAMERA_OK;
}

void camera_poll(void) {}
