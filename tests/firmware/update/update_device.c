/* A device with updates on standard input and output.
 *
 * update_device PAGE_BYTES UNIT_BYTES FIRMWARE_PAGES MODEL_PAGES BOARD KEY FIRMWARE [MODEL]: KEY is the file of the public
 * key, 32 bytes, and the others are the images in the slots 0. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "image.h"
#include "update_board.h"

static uint8_t file[1 << 20];

static uint32_t load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == 0) {
        fprintf(stderr, "update_device: %s cannot be read\n", path);
        exit(1);
    }
    const size_t bytes = fread(file, 1, sizeof file, f);
    fclose(f);
    return (uint32_t)bytes;
}

int main(int count, char **arguments)
{
    if (count < 8) {
        return 1;
    }
    const board_geometry geometry = {.page_bytes = (uint32_t)atoi(arguments[1]),
                                     .unit_bytes = (uint32_t)atoi(arguments[2]),
                                     .firmware_pages = (uint32_t)atoi(arguments[3]),
                                     .model_pages = (uint32_t)atoi(arguments[4])};
    load(arguments[6]);
    board *b = board_create(&geometry, arguments[5], file);
    for (int i = 7; i < count; i++) {
        const uint32_t bytes = load(arguments[i]);
        board_put_image(b, (uint32_t)i - 7, 0, file, bytes);
    }
    if (board_start(b, 0) < AR_BOOT_RUN) {
        fprintf(stderr, "update_device: no image may run\n");
        return 1;
    }
    static uint8_t in[256], out[4096];
    uint32_t in_bytes = 0, in_at = 0;
    for (;;) {
        while (in_at < in_bytes && board_receive(b, in[in_at])) {
            in_at++;
        }
        const int result = board_step(b);
        if (board_violation(b)) {
            fprintf(stderr, "update_device: %s\n", board_violation(b));
            return 1;
        }
        const uint32_t bytes = board_take(b, out, sizeof out);
        for (uint32_t done = 0; done < bytes;) {
            const ssize_t sent = write(1, out + done, bytes - done);
            if (sent < 0) {
                return 0;
            }
            done += (uint32_t)sent;
        }
        if (in_at == in_bytes && result == AR_SMP_IDLE) {
            struct pollfd poll_in = {.fd = 0, .events = POLLIN};
            if (poll(&poll_in, 1, 1000) > 0) {
                const ssize_t got = read(0, in, sizeof in);
                if (got <= 0) {
                    return 0;
                }
                in_bytes = (uint32_t)got;
                in_at = 0;
            }
        }
    }
}
