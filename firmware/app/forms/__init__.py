"""Write the build files of an application: for PlatformIO, ESP-IDF, Zephyr or plain CMake."""
