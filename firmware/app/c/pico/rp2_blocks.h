/* Two DMA channels of an RP2040 or RP2350 that fill two blocks of memory in turn. Each one calls an interrupt, which must
 * call rp2_took_block(). */
#ifndef ARENITE_RP2_BLOCKS_H
#define ARENITE_RP2_BLOCKS_H

#include <hardware/dma.h>
#include <hardware/irq.h>

/* Where the values come from: a register, their size, their number in a block, and what requests them. */
typedef struct {
    const volatile void *from;
    enum dma_channel_transfer_size size;
    uint32_t count, request;
} rp2_source;

static int rp2_channels[2];

static inline void rp2_start_channel(const rp2_source *source, uint32_t k, void *block)
{
    const uint32_t channel = (uint32_t)rp2_channels[k];
    dma_channel_config settings = dma_channel_get_default_config(channel);
    channel_config_set_transfer_data_size(&settings, source->size);
    channel_config_set_read_increment(&settings, false);
    channel_config_set_write_increment(&settings, true);
    channel_config_set_dreq(&settings, source->request);
    channel_config_set_chain_to(&settings, (uint32_t)rp2_channels[k ^ 1u]);
    dma_channel_configure(channel, &settings, block, source->from, source->count, false);
    dma_channel_set_irq0_enabled(channel, true);
}

/* Reserves two channels. Returns 0 if there are none left. */
static inline uint32_t rp2_claim_channels(void)
{
    rp2_channels[0] = dma_claim_unused_channel(false);
    rp2_channels[1] = dma_claim_unused_channel(false);
    return rp2_channels[0] >= 0 && rp2_channels[1] >= 0;
}

/* Starts to fill the blocks; the interrupt calls `receive`. */
static inline void rp2_start_blocks(const rp2_source *source, void *first, void *second,
                                    irq_handler_t receive)
{
    rp2_start_channel(source, 0, first);
    rp2_start_channel(source, 1, second);
    irq_set_exclusive_handler(DMA_IRQ_0, receive);
    irq_set_enabled(DMA_IRQ_0, true);
    dma_channel_start((uint32_t)rp2_channels[0]);
}

/* Returns 1 if the block `k` is full, and prepares its next turn. */
static inline uint32_t rp2_took_block(uint32_t k, void *block)
{
    const uint32_t channel = (uint32_t)rp2_channels[k];
    if (!dma_channel_get_irq0_status(channel)) {
        return 0;
    }
    dma_channel_acknowledge_irq0(channel);
    dma_channel_set_write_addr(channel, block, false);
    return 1;
}

#endif
