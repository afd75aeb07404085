/* The part of an Arduino core that the logger uses. Serial is a pseudo-terminal, and time is simulated. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HIGH 1
#define INPUT 0

struct SerialPort {
    void begin(unsigned long baud);
    int available();
    int read();
    int availableForWrite();
    size_t write(const uint8_t *bytes, size_t count);
    void print(const char *text);
    void print(unsigned long number);
    void println(const char *text);
    void println(unsigned long number);
    void println(long number);
};
extern SerialPort Serial;
unsigned long micros();
int digitalRead(uint8_t pin);
void pinMode(uint8_t pin, uint8_t mode);
void setup();
void loop();
