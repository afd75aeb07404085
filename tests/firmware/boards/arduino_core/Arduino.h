/* A stand-in for an Arduino core with the functions that port_arduino.cpp and examples use. Its Serial is a file
 * descriptor. */
#pragma once
#include <stdint.h>

struct SerialPort {
    void begin(unsigned long baud);
    int available();
    int read();
    void write(uint8_t byte);
    void print(char letter);
    void print(long number);
    void print(double number);
    void println();
    void flush();
};
extern SerialPort Serial;
unsigned long micros();
void yield();
void setup();
void loop();
