// The package has no types.
declare module 'event-source-polyfill' {
  export const EventSourcePolyfill: typeof EventSource
}
