/** The description of the API as a whole. */
export const info = {
  title: 'FX-protection API',
  version: '1.0.0',
  summary: 'Reads and ready-to-sign calldata of an on-chain parametric FX-protection protocol',
  description: [
    'A success is `{"data": …}`, and an error is `{"error": {"code", "message", "details"?}}`. Clients should switch on `error.code`.',
    'Token amounts, prices and rates are decimal strings. Rates, strikes, caps and premium rates are in 1e6 fixed point, and amounts are in',
    "the payment token's own units; `/v1/pricing` has plain numbers and whole tokens instead. Ids, counts and times are JSON integers. The service signs nothing and holds no key: the contract and",
    'the signer decide whether a built transaction succeeds.',
    'Builders reject an address argument in mixed case with a wrong EIP-55 checksum, because a typo could send tokens or rights to another',
    'address. `from`, pricing and reads accept addresses in any letter case.',
  ].join('\n'),
  contact: { name: 'The maintainers of this service' },
  license: { name: 'MIT', identifier: 'MIT' },
} as const

/** The tags in the order of the documentation. The lint fails for a used tag that is not here. */
export const tags: Readonly<Record<string, string>> = {
  Protocol: 'Supported chains, and settings of the protocol that apply to every event',
  Events: 'Events that underwriters create: terms, settlement and pool',
  Positions: 'Protection that hedgers buy',
  Deposits: 'Deposits of liquidity providers',
  Wallets: 'Portfolios of wallets, and the amounts that they can claim',
  Activity: 'What happened: every log of the protocol, by wallet, event, deposit, position and type',
  Webhooks: 'Endpoints that are called for what happens, for integrators with a key',
  Changes: 'Which wallets and events changed, for copies that are kept up to date',
  Plans: 'Whole actions: their transactions, simulated, with costs, payouts and reasons against',
  Pricing: 'Fair-value quotes of the pricing engine',
  Transactions: 'Builders of ready-to-sign transactions, the relay of signed ones, and their results',
  Oracle: 'The oracles that settle events, and their submissions',
  Governance: "The proxy's owner, facets and queued upgrades",
  Account: 'The authenticated user',
  Service: 'Health, status and changes of the service',
}

/** The authentication schemes. One is reserved: no operation requires it at present. */
export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token of the identity provider',
  },
  adminToken: {
    type: 'apiKey',
    in: 'header',
    name: 'x-admin-token',
    description: 'Reserved for administrators; no operation requires it at present',
  },
  integratorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'A key that the operator gives an integrator; operations on webhooks require it',
  },
} as const

/** The default security of an operation: no credential is required, and reserved ones are ignored. */
export const optionalSecurity = [{}, { adminToken: [] }, { integratorKey: [] }] as const

const text = (description: string, example: string, pattern = '^.+$') => ({
  description,
  schema: { type: 'string', pattern },
  example,
})

const count = (description: string, example: string) => text(description, example, '^\\d+$')

/** The response headers. */
export const headers = {
  'X-Request-Id': text(
    'The id of the request: the value that the client sent, if it has only allowed characters, else a new one',
    'checkout-42',
    '^[\\w.:-]{1,128}$',
  ),
  'X-Data-Source': text(
    'The source of the response: `chain`, `database` or `static`',
    'chain',
    '^(chain|database|static)$',
  ),
  'X-Block-Number': count(
    'The number of the block that the response is as of; absent for static data and for responses of several chains',
    '31415926',
  ),
  'X-Block-Hash': text('The hash of that block', `0x${'5f'.repeat(32)}`, '^0x[0-9a-f]{64}$'),
  'X-Block-Timestamp': count('The time of that block, in Unix seconds', '1800000000'),
  'X-Stale': text(
    '`1` when the preferred source is out of reach or lags and the response may be outdated; otherwise absent',
    '1',
    '^1$',
  ),
  'X-Index-Lag': count(
    'How far the index is behind the chain, in seconds; the greatest lag for responses of several chains',
    '1',
  ),
  'X-Complete-From': text(
    'CSV of activity whose older logs are still being read, or that no node has: the chains and the first blocks from which it is complete, as `meta.completeFrom` of JSON has them. Absent when it is complete',
    '8453=41200300',
    '^\\d+=\\d+(, \\d+=\\d+)*$',
  ),
  'X-Transaction': text(
    '`reverted` when the transaction of `afterTx` reverted, also on a 304 and on errors; otherwise absent',
    'reverted',
    '^reverted$',
  ),
  ETag: text(
    'Changes when the returned data changes, and not with every block. Until then, `If-None-Match` with this value returns a 304',
    'W/"0.1.0.ab49855554d6~hofzb149wz"',
    '^W/"[!#-~]+"$',
  ),
  'Cache-Control': text('How long the response may be cached without revalidation', 'public, no-cache'),
  Vary: text('The request headers that the response depends on', 'accept'),
  Link: text(
    'Of a page: the relative URL of the next one, if there is one; absent when it is longer than 8 KB: use `meta.nextCursor` then. Of an error: with `rel="help"`, what its code means and what to do',
    '<?cursor=AAAA>; rel="next"',
  ),
  'Server-Timing': text(
    'Milliseconds spent waiting for nodes (`rpc`) and for the database (`db`), and in total (`app`)',
    'rpc;dur=3.1, db;dur=0.8, app;dur=4.2',
  ),
  'Retry-After': count('When to try again, in seconds', '1'),
} as const

export type HeaderName = keyof typeof headers
