/* The functions of tasks; see FreeRTOS.h. */
TickType_t xTaskGetTickCount(void);
void vTaskDelay(TickType_t ticks);
UBaseType_t uxTaskPriorityGet(TaskHandle_t task);
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task);
TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t code, const char *name, uint32_t depth,
                                           void *argument, UBaseType_t priority, StackType_t *stack,
                                           StaticTask_t *memory, BaseType_t core);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait);
