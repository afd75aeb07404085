/* Events between cores: an event that nobody waits for is remembered, by each core on its own. */
void __sev(void);
void __wfe(void);
