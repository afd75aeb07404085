/* Serial port, counter and sleep of an application on an Arduino core. The core's main() calls setup(), and setup()
 * calls main() of src/main.c, which the build renames to arenite_user_main().
 *
 * Compiled with the headers of Arduino cores; never run on a board. */
#include <Arduino.h>
#if defined(ARDUINO_ARCH_MBED) && defined(SERIAL_CDC)
#include <USB/PluggableUSBSerial.h>
#endif

extern "C" {
#include "console.h"
#include "port.h"
#include "sensor.h"

uint32_t port_tick_hz;
int arenite_user_main(void);
}

#if defined(DWT) && defined(DWT_CTRL_CYCCNTENA_Msk)
uint32_t port_ticks(void) { return DWT->CYCCNT; }
static void start_counter()
{
    CoreDebug->DEMCR |= CoreDebug_DEMCR_TRCENA_Msk;
    DWT->CTRL |= DWT_CTRL_CYCCNTENA_Msk;
    port_tick_hz = SystemCoreClock;
}
#else
uint32_t port_ticks(void) { return micros(); }
static void start_counter() { port_tick_hz = 1000000u; }
#endif

void port_init(void) { start_counter(); }

void console_port_init(void)
{
    port_init();
    Serial.begin(ARENITE_BAUD);
}

uint32_t console_port_put(uint8_t byte)
{
#if defined(ARDUINO_ARCH_MBED) && defined(SERIAL_CDC)
    uint32_t sent = 0; /* write() of this core waits until the computer has taken the byte */
    _SerialUSB.send_nb(&byte, 1, &sent);
    return sent;
#else
    return Serial.availableForWrite() > 0 && Serial.write(byte) == 1;
#endif
}

uint32_t console_port_get(uint8_t *byte)
{
    if (Serial.available() <= 0) {
        return 0;
    }
    *byte = static_cast<uint8_t>(Serial.read());
    return 1;
}

void sensor_wait(void)
{
#ifdef ARDUINO_ARCH_MBED
    delay(1); /* the operating system sleeps in its idle task */
#else
    __WFI(); /* the core's tick ends it after a millisecond */
#endif
}

void setup() { arenite_user_main(); }

void loop() {}
