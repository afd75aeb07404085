/* Two DMA channels of an RP2040 or RP2350 that fill two blocks of memory in turn. Each one calls an interrupt, which must
 * call rp2_took_block(). Two more channels start them again, each at the beginning of its block, so they stay inside the
 * blocks also while no interrupt runs. */
#ifndef ARENITE_RP2_BLOCKS_H
#define ARENITE_RP2_BLOCKS_H

#include <hardware/dma.h>
#include <hardware/irq.h>
#include <hardware/timer.h>

/* Where the values come from: a register, their size, their number in a block, what requests them, and the time of a
 * block. */
typedef struct {
    const volatile void *from;
    enum dma_channel_transfer_size size;
    uint32_t count, request, block_us;
} rp2_source;

static int rp2_channels[2], rp2_starters[2];
static void *rp2_blocks[2];
static uint32_t rp2_block_us, rp2_taken_at;

static inline void rp2_set_up_channel(const rp2_source *source, uint32_t k)
{
    const uint32_t channel = (uint32_t)rp2_channels[k], starter = (uint32_t)rp2_starters[k];
    dma_channel_config settings = dma_channel_get_default_config(channel);
    channel_config_set_transfer_data_size(&settings, source->size);
    channel_config_set_read_increment(&settings, false);
    channel_config_set_write_increment(&settings, true);
    channel_config_set_dreq(&settings, source->request);
    channel_config_set_chain_to(&settings, starter);
    dma_channel_configure(channel, &settings, rp2_blocks[k], source->from, source->count, false);
    dma_channel_set_irq0_enabled(channel, true);
    /* The starter writes the address of the other block to the other channel, which starts it. */
    dma_channel_config once = dma_channel_get_default_config(starter);
    channel_config_set_transfer_data_size(&once, DMA_SIZE_32);
    channel_config_set_read_increment(&once, false);
    channel_config_set_write_increment(&once, false);
    dma_channel_configure(starter, &once, &dma_hw->ch[rp2_channels[k ^ 1u]].al2_write_addr_trig,
                          &rp2_blocks[k ^ 1u], 1, false);
}

/* Reserves four channels. Returns 0 if there are not as many left. */
static inline uint32_t rp2_claim_channels(void)
{
    for (uint32_t k = 0; k < 2; k++) {
        rp2_channels[k] = dma_claim_unused_channel(false);
        rp2_starters[k] = dma_claim_unused_channel(false);
        if (rp2_channels[k] < 0 || rp2_starters[k] < 0) {
            return 0;
        }
    }
    return 1;
}

/* Starts to fill the blocks; the interrupt calls `receive`. */
static inline void rp2_start_blocks(const rp2_source *source, void *first, void *second,
                                    irq_handler_t receive)
{
    rp2_blocks[0] = first;
    rp2_blocks[1] = second;
    rp2_block_us = source->block_us;
    rp2_set_up_channel(source, 0);
    rp2_set_up_channel(source, 1);
    irq_set_exclusive_handler(DMA_IRQ_0, receive);
    irq_set_enabled(DMA_IRQ_0, true);
    rp2_taken_at = time_us_32();
    dma_channel_start((uint32_t)rp2_channels[0]);
}

/* Returns 1 if the block `k` was filled since the last call. `*missed` becomes the number of blocks that were filled
 * since the last one that was taken, and overwritten because no interrupt ran. It is right to one block while the two
 * clocks differ by at most 1 %. */
static inline uint32_t rp2_took_block(uint32_t k, uint32_t *missed)
{
    const uint32_t channel = (uint32_t)rp2_channels[k], now = time_us_32();
    if (!dma_channel_get_irq0_status(channel)) {
        return 0;
    }
    dma_channel_acknowledge_irq0(channel);
    /* A late interrupt finds both blocks full and takes both, so the other one is not missed. */
    const uint32_t other = dma_channel_get_irq0_status((uint32_t)rp2_channels[k ^ 1u]) ? 1u : 0u;
    const uint32_t elapsed = (now - rp2_taken_at + rp2_block_us / 8u) / rp2_block_us;
    *missed = elapsed > 1u + other ? elapsed - 1u - other : 0u;
    rp2_taken_at = *missed || other ? rp2_taken_at + (1u + *missed) * rp2_block_us : now;
    return 1;
}

#endif
