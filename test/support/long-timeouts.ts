/**
 * Settings of an API that never rejects a request because of a delay. For tests of other behaviour, because a machine
 * that runs many tests at once may pause.
 */
export const longTimeouts = {
  API_QUERY_TIMEOUT_MS: '10000',
  NODE_TIMEOUT_MS: '15000',
  ENGINE_TIMEOUT_MS: '15000',
  MAX_EVENT_LOOP_DELAY_MS: '0',
} as const
