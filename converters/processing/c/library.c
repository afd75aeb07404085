/* Only in the host's library: which sources it was made of, so that another state of them is not taken for it. */
#ifndef AR_SOURCES
#define AR_SOURCES "unknown"
#endif

const char *ar_processing_sources(void);

const char *ar_processing_sources(void) { return AR_SOURCES; }
