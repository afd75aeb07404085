/* Implements Arduino.h. The program's argument is the file descriptor of Serial. */
#include "Arduino.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

SerialPort Serial;
static int line; /* the file descriptor */

void SerialPort::begin(unsigned long) {}
int SerialPort::available()
{
    pollfd request = {line, POLLIN, 0};
    if (poll(&request, 1, 100) > 0 && (request.revents & POLLHUP)) {
        exit(0); /* the host closed the line */
    }
    return request.revents & POLLIN ? 1 : 0;
}
int SerialPort::read()
{
    uint8_t byte;
    return ::read(line, &byte, 1) == 1 ? byte : -1;
}
void SerialPort::write(uint8_t byte)
{
    while (::write(line, &byte, 1) != 1) {
    }
}
static void write_text(const char *text)
{
    while (*text) {
        Serial.write(static_cast<uint8_t>(*text++));
    }
}
void SerialPort::print(char letter) { write(static_cast<uint8_t>(letter)); }
void SerialPort::print(long number)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    write_text(text);
}
void SerialPort::print(double number)
{
    char text[48];
    snprintf(text, sizeof text, "%.2f", number);
    write_text(text);
}
void SerialPort::println() { write_text("\r\n"); }
void SerialPort::flush() {}

unsigned long micros()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<unsigned long>(now.tv_sec) * 1000000ul +
           static_cast<unsigned long>(now.tv_nsec / 1000);
}
void yield() {}

int main(int count, char **arguments)
{
    line = count > 1 ? atoi(arguments[1]) : 0;
    setup();
    for (;;) {
        loop();
    }
}
