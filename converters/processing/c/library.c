/* Only the host's library contains this file. The digest of the library's sources shows whether it was built from other
 * sources. */
#ifndef AR_SOURCES
#define AR_SOURCES "unknown"
#endif

const char *ar_processing_sources(void);

const char *ar_processing_sources(void) { return AR_SOURCES; }
