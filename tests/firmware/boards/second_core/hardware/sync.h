/* A stand-in for the Pico SDK's events between cores. __sev sends an event to both cores, and __wfe waits for one. Each
 * core remembers an event for which it did not wait. */
void __sev(void);
void __wfe(void);
