/* Only in the host's library: the digest of its sources, which identifies a library of other sources. */
#ifndef AR_SOURCES
#define AR_SOURCES "unknown"
#endif

const char *ar_processing_sources(void);

const char *ar_processing_sources(void) { return AR_SOURCES; }
