/* A stand-in for Arduino.h with the declarations that the ports use: Arduino's functions, and the chips' functions. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define LOW 0x0
#define HIGH 0x1
#define INPUT 0x0
#define OUTPUT 0x1

class HardwareSerial
{
  public:
    void begin(unsigned long baud);
    int available();
    int read();
    size_t write(uint8_t byte);
    void flush();
    operator bool() const;
};
extern HardwareSerial Serial;

extern "C" {
unsigned long micros();
unsigned long millis();
void delay(unsigned long milliseconds);
void yield();
void pinMode(uint8_t pin, uint8_t mode);
void digitalWrite(uint8_t pin, uint8_t value);
}
void setup();
void loop();

#ifdef ESP32 /* esp32-hal.h, and the ESP-IDF headers that it includes */
extern "C" {
#include <esp_system.h>
void enableLoopWDT();
void disableLoopWDT();
void feedLoopWDT();
void disableCore0WDT();
}
#endif
#if defined(ESP32) || defined(ESP8266)
class EspClass
{
  public:
    uint32_t getCycleCount();
    uint32_t getCpuFreqMHz();
#ifdef ESP8266
    void wdtFeed();
#endif
    void restart() __attribute__((noreturn));
};
extern EspClass ESP;
#elif defined(__arm__)
extern "C" uint32_t SystemCoreClock;
extern "C" void NVIC_SystemReset() __attribute__((noreturn));
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__) /* CMSIS: the counter of the larger cores */
typedef struct {
    volatile uint32_t CTRL;
    volatile uint32_t CYCCNT;
} DWT_Type;
typedef struct {
    volatile uint32_t DEMCR;
} CoreDebug_Type;
#define DWT ((DWT_Type *)0xE0001000UL)
#define CoreDebug ((CoreDebug_Type *)0xE000EDF0UL)
#define DWT_CTRL_CYCCNTENA_Msk 1UL
#define CoreDebug_DEMCR_TRCENA_Msk (1UL << 24)
#endif
#endif
