/*
 * The files of the explorer are in `explorer/assets/` of the service, wherever a proxy puts it: its own address gives
 * the others.
 */

/** The path of the explorer, without a slash at its end. */
export const explorerPath = new URL('..', import.meta.url).pathname.replace(/\/$/, '')

/** The address of the service. */
export const serviceUrl = new URL('../..', import.meta.url).href.replace(/\/$/, '')
