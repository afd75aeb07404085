/* A camera at an ESP32, ESP32-S2 or ESP32-S3, with Espressif's component esp32-camera, which sets up the chip.
 *
 * The component has whole frames only: it holds one frame in memory that it allocates, in the PSRAM if CAMERA_IN_PSRAM
 * is 1. Rows are handed over from there as fast as the model takes them. A frame that was captured before its time is
 * given back, so the picture is never old.
 *
 * camera_start() returns 1 if no camera answers, and 3 if the component reports another problem.
 *
 * Compiled with the headers of esp32-camera and ESP-IDF; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "camera.h"
#include "camera_chip.h"
#include "camera_rows.h"
#include "console.h"
#include "port.h"
#include <esp_camera.h>

static camera_fb_t *held;
static uint32_t frame, row, began, is_due;

uint32_t camera_start(void)
{
    const camera_config_t settings = {
        .pin_pwdn = CAMERA_POWER_DOWN,
        .pin_reset = CAMERA_RESET,
        .pin_xclk = CAMERA_CLOCK,
        .pin_sccb_sda = CAMERA_SDA,
        .pin_sccb_scl = CAMERA_SCL,
        .pin_d0 = CAMERA_D0,
        .pin_d1 = CAMERA_D1,
        .pin_d2 = CAMERA_D2,
        .pin_d3 = CAMERA_D3,
        .pin_d4 = CAMERA_D4,
        .pin_d5 = CAMERA_D5,
        .pin_d6 = CAMERA_D6,
        .pin_d7 = CAMERA_D7,
        .pin_vsync = CAMERA_VSYNC,
        .pin_href = CAMERA_HREF,
        .pin_pclk = CAMERA_PIXEL_CLOCK,
        .xclk_freq_hz = CAMERA_CLOCK_HZ,
        .ledc_timer = LEDC_TIMER_0,
        .ledc_channel = LEDC_CHANNEL_0,
        .pixel_format = CAMERA_CHIP_SENDS == CAMERA_SENDS_GREY     ? PIXFORMAT_GRAYSCALE
                        : CAMERA_CHIP_SENDS == CAMERA_SENDS_RGB565 ? PIXFORMAT_RGB565
                                                                   : PIXFORMAT_YUV422,
        .frame_size = CAMERA_FRAME_SIZE,
        .fb_count = 1,
        .fb_location = CAMERA_IN_PSRAM ? CAMERA_FB_IN_PSRAM : CAMERA_FB_IN_DRAM,
        .grab_mode = CAMERA_GRAB_WHEN_EMPTY,
    };
    const esp_err_t problem = esp_camera_init(&settings);
    if (problem == ESP_ERR_CAMERA_NOT_DETECTED) {
        console_note("No camera answers: check its supply, its plug, and the pins in src/app_pins.h.");
        return CAMERA_NO_ANSWER;
    }
    if (problem != ESP_OK) {
        console_note("The camera could not be set up: there may be too little memory for a frame.");
        return CAMERA_OTHER_PROBLEM;
    }
    began = port_ticks();
    frame = UINT32_MAX;
    return CAMERA_OK;
}

/* Begins a frame when its time has come. What was captured before is given back, for the next frame. */
static void begin_frame(uint32_t now)
{
    const uint32_t period = CAMERA_FRAME_US * PORT_TICKS_PER_US;
    if (now - began < period) {
        return;
    }
    began += period;
    frame++;
    is_due = 1;
    if (!held && esp_camera_available_frames()) {
        esp_camera_fb_return(esp_camera_fb_get());
    }
}

void camera_poll(void)
{
    const uint32_t now = port_ticks();
    if (!held) {
        begin_frame(now);
        if (!is_due || !esp_camera_available_frames()) {
            return;
        }
        held = esp_camera_fb_get();
        is_due = row = 0;
    }
    while (held && camera_place()) {
        if (held->len == CAMERA_CHIP_WIDTH * CAMERA_CHIP_HEIGHT * CAMERA_CHIP_PIXEL) {
            const uint32_t at = (row * CAMERA_CHIP_WIDTH + CAMERA_LEFT) * CAMERA_CHIP_PIXEL;
            camera_hand_over(held->buf + at, frame, row, now);
            row++;
        } else {
            row = CAMERA_CHIP_HEIGHT; /* an incomplete frame is dropped */
        }
        if (row == CAMERA_CHIP_HEIGHT) {
            esp_camera_fb_return(held);
            held = 0;
        }
    }
}
