import type { IncomingHttpHeaders } from 'node:http'

/*
 * Every page that is open in a browser on this machine can send requests to 127.0.0.1. Those of other pages are refused
 * by their origin. A page whose name resolves to 127.0.0.1 is refused by its `Host`.
 */

const loopback = (port: number): readonly string[] => [`127.0.0.1:${port}`, `localhost:${port}`]

/** The origins of an API on this machine. */
export const originsOf = (apiPort: number): readonly string[] => loopback(apiPort).map((host) => `http://${host}`)

/** Why a request is refused; null when it is not. A script is also served to requests without an origin. */
export const refusalOf = (
  { method, headers: { host, origin } }: { readonly method: string; readonly headers: IncomingHttpHeaders },
  { port, origins }: { readonly port: number; readonly origins: readonly string[] },
): string | null => {
  if (!loopback(port).includes(host ?? '')) return `the host has to be ${loopback(port).join(' or ')}`
  const isAllowed = origin === undefined ? method === 'GET' : origins.includes(origin)
  return isAllowed ? null : `the origin has to be ${origins.join(' or ')}`
}

/** The CORS headers of a response to an allowed request; with those of a preflight for one. */
export const corsOf = ({ method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders }) => ({
  vary: 'origin',
  ...(headers.origin !== undefined && { 'access-control-allow-origin': headers.origin }),
  ...(method === 'OPTIONS' && {
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type',
    'access-control-max-age': '600',
    ...(headers['access-control-request-private-network'] === 'true' && {
      'access-control-allow-private-network': 'true',
    }),
  }),
})
