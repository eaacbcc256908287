import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { LRUCache } from 'lru-cache'
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'

const client = { client_id: 'app', client_secret: 'app-secret', redirect_uris: ['https://app.example/back'] }

export type User = Readonly<Record<string, unknown>> & { readonly sub: string }

async function* endless() {
  for (;;) yield Buffer.alloc(65_536, ' ')
}

/** The provider's memory: what it keeps of each kind, by id, until it expires. Nothing of it outlives the provider. */
const createStore = (): ((kind: string) => Adapter) => {
  const kept = new LRUCache<string, AdapterPayload>({ max: 2_000 })
  const unused = async (): Promise<undefined> => undefined
  return (kind) => ({
    find: async (id) => kept.get(`${kind} ${id}`),
    upsert: async (id, payload, seconds) => void kept.set(`${kind} ${id}`, payload, { ttl: seconds * 1_000 }),
    destroy: async (id) => void kept.delete(`${kind} ${id}`),
    consume: unused,
    findByUid: unused,
    findByUserCode: unused,
    revokeByGrantId: unused,
  })
}

/**
 * A real OpenID provider on loopback that knows these users.
 *
 * @example
 * const provider = await startIdentityProvider([{ sub: 'ama', email: 'ama@example.com' }])
 * const token = await provider.signIn('ama')
 */
export const startIdentityProvider = async (users: readonly User[]) => {
  let asked = 0
  let fault: 'none' | 'error' | 'nonsense' | 'silence' | 'endless' | 'nested' = 'none'
  let [open, mostOpen] = [0, 0]
  /** The requests that it does not answer. They fail when its behaviour changes. */
  const silent = new Set<ServerResponse>()

  const server = createServer((request, response) => {
    asked += 1
    open += 1
    mostOpen = Math.max(mostOpen, open)
    response.once('close', () => {
      open -= 1
    })
    if (fault === 'silence') return void silent.add(response)
    if (fault === 'nested') return void response.end('['.repeat(1_000_000))
    if (fault === 'endless') return void pipeline(endless, response, () => {})
    if (fault === 'none') return void callback(request, response)
    response.statusCode = fault === 'error' ? 500 : 200
    response.end('<html>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the provider has no port')
  const issuer = `http://127.0.0.1:${address.port}`

  const provider = new Provider(issuer, {
    clients: [client],
    scopes: ['openid', 'everything'],
    claims: { openid: ['sub'], everything: [...new Set(users.flatMap((user) => Object.keys(user)))] },
    features: { revocation: { enabled: true }, devInteractions: { enabled: false }, userinfo: { enabled: true } },
    findAccount: (_, id) => {
      const user = users.find(({ sub }) => sub === id)
      return user && { accountId: id, claims: () => user }
    },
    adapter: createStore(),
    ttl: { Grant: 3_600 },
    jwks: { keys: [generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' })] },
    cookies: { keys: [randomUUID()] },
  })
  const callback = provider.callback()
  const scope = 'openid everything'

  return {
    userinfoUrl: `${issuer}/me`,
    /** The number of requests that it received. */
    asked: () => asked,
    /** Requests without an answer yet, now and at most so far. */
    open: () => open,
    mostOpen: () => mostOpen,
    /**
     * Sets its behaviour: normal, or an error, an answer that is not JSON, too long or too deeply nested, or no answer.
     */
    fail(next: typeof fault): void {
      fault = next
      for (const response of silent) response.destroy()
      silent.clear()
    },
    /** An access token of a user, as the end of a sign-in gives it. */
    async signIn(accountId: string, expiresIn = 3_600): Promise<string> {
      const grant = new provider.Grant({ accountId, clientId: client.client_id })
      grant.addOIDCScope(scope)
      const grantId = await grant.save()
      const registered = await provider.Client.find(client.client_id)
      if (registered === undefined) throw new Error('the provider has lost its client')
      const grants = { accountId, grantId, client: registered, scope, gty: 'authorization_code' }
      return new provider.AccessToken({ ...grants, expiresIn }).save()
    },
    /** Revokes a token, as an application does when its user signs out. */
    async revoke(token: string): Promise<void> {
      const { client_id, client_secret } = client
      const body = new URLSearchParams({ token, client_id, client_secret })
      const { status } = await fetch(`${issuer}/token/revocation`, { method: 'POST', body })
      if (status !== 200) throw new Error(`the provider does not revoke: ${status}`)
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
