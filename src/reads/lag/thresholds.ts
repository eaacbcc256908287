/*
 * When the API treats the index, a worker or an endpoint as too old. Every limit on silence or lag in `reads` is here.
 * The one that operators set is `MAX_LAG_SECONDS`: the largest lag of an index that is still ready and still answers as
 * the preferred source.
 */

/**
 * Age of a heartbeat, in seconds, from which the worker counts as silent: `/readyz` is 503, the state is `stuck`, and
 * the silence counts as lag. A worker polls its chain several times a second, so one that is silent has stopped or
 * cannot reach its nodes.
 */
export const WORKER_SILENT_SECONDS = 10

/**
 * Age of a heartbeat, in seconds, and lag of the index, in seconds of the chain, up to which cached responses may be
 * served.
 */
export const CACHE_MAX_HEARTBEAT_AGE_SECONDS = 3
export const CACHE_MAX_LAG_SECONDS = 5

/**
 * Age of what this process knows of the index, in milliseconds, up to which cached responses may be served. A process
 * that was suspended must not answer from before. The notification listener polls more often than this.
 */
export const CACHE_MAX_KNOWLEDGE_AGE_MS = 2_000

/**
 * How far an endpoint may be behind the newest known block, in seconds of the chain, before `/status` shows it as
 * `lagging`.
 */
export const ENDPOINT_LAGGING_SECONDS = 5n

/**
 * Time without a proof that index and chain are equal, and time that an entity waits to be read again, before an alarm;
 * in seconds.
 */
export const ALARM_AFTER_SECONDS = 60

/** How long the alarm about a difference that the audit found stays, in seconds. */
export const ALARM_OF_DIFFERENCE_SECONDS = 3_600
