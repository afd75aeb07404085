/* Events between cores. Each core remembers an event for which it did not wait. */
void __sev(void);
void __wfe(void);
