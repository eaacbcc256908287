/**
 * Settings of an API that refuses nothing for being late. For tests of something else: a machine that runs many of them at once, or stands still
 * for a moment, is late for no fault of the service.
 */
export const patient = {
  API_QUERY_TIMEOUT_MS: '10000',
  NODE_TIMEOUT_MS: '15000',
  ENGINE_TIMEOUT_MS: '15000',
  MAX_EVENT_LOOP_DELAY_MS: '0',
} as const
