/* The agent of the program of update_main.c. */
#ifndef ARENITE_AGENT_GLUE_H
#define ARENITE_AGENT_GLUE_H

#include "device.h"
#include "self_test.h"

/* Starts the agent. Called once, after port_init. */
void agent_glue_start(void);
/* Lets `update` answer the requests of the agent. Called after ar_update_start. */
void agent_glue_connect(ar_update *update);
/* Counts the time. Called often. */
void agent_glue_tick(void);
/* Runs and counts an inference. Its inputs are sample `number` of `golden`, counted round and round, or random bytes
 * of the seed `number` if the samples are random. Returns its latency in microseconds. */
uint32_t agent_glue_infer(const ar_model *model, const ar_golden *golden, uint32_t number);

#endif
