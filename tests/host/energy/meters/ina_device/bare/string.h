/* The bare-metal compiler here has no C library: what the logger takes from its own. */
#pragma once
extern "C" int strcmp(const char *one, const char *other);
