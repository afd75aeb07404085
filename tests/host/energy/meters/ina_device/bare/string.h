/* The bare-metal compiler has no C library. This header declares the only function that the logger uses. */
#pragma once
extern "C" int strcmp(const char *one, const char *other);
