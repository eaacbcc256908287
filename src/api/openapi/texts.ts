/** What the document says of the API as a whole. */
export const info = {
  title: 'FX-protection API',
  version: '1.0.0',
  summary: 'Reads and ready-to-sign calldata of an on-chain parametric FX-protection protocol',
  description: [
    'Every success is `{"data": …}`, every error `{"error": {"code", "message", "details"?}}`; clients switch on `error.code`.',
    'Token amounts, prices and rates are decimal strings: rates, strikes, caps and premium rates in 1e6 fixed point, amounts in the',
    "payment token's own units. Ids, counts and times are JSON integers. The service signs nothing and holds no key: whether a built",
    'transaction succeeds is decided by the contract and the signer.',
    'Builders refuse an address argument in mixed case whose EIP-55 checksum is wrong, since tokens and rights go there. `from`, pricing and',
    'reads take addresses in any letter case.',
  ].join('\n'),
  contact: { name: 'The maintainers of this service' },
  license: { name: 'MIT', identifier: 'MIT' },
} as const

/** What each tag is about, in the order of the documentation. A tag that is used and not here fails the lint. */
export const tags: Readonly<Record<string, string>> = {
  Protocol: 'The chains, and what holds for every event on one',
  Events: 'What underwriters created: terms, settlement, pool',
  Positions: 'What hedgers bought',
  Deposits: 'What liquidity providers put in',
  Wallets: 'All that a wallet has, and what it can claim',
  Oracle: 'Who settles events, and what they submitted',
  Governance: "The proxy's owner, facets and queued upgrades",
  Pricing: 'Fair-value quotes of the pricing engine',
  Transactions: 'Builders of ready-to-sign calls, and the relay of signed ones',
  Account: 'The authenticated user',
  Service: 'The service itself',
}

/** The ways to authenticate; two are reserved, and no operation asks for them at present. */
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
    description: 'Reserved for administrators; no operation asks for it at present',
  },
  integratorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'Reserved for integrators without an identity provider; no operation asks for it at present',
  },
} as const

/** What an operation takes when it says nothing else: no credential, and the reserved ones without looking at them. */
export const optionalSecurity = [{}, { adminToken: [] }, { integratorKey: [] }] as const

const text = (description: string, pattern: string, example: string) => ({
  description,
  schema: { type: 'string', pattern },
  example,
})

/** The headers that responses say more in. */
export const headers = {
  'X-Request-Id': text("The caller's own when it is sane, else a new one", '^[\\w.:-]{1,128}$', 'checkout-42'),
  'X-Data-Source': text('Who answered: `chain`, `database` or `static`', '^(chain|database|static)$', 'chain'),
  'X-Block-Number': text(
    'The block that the answer is true at; absent for what no block changes',
    '^\\d+$',
    '31415926',
  ),
  'X-Block-Hash': text('Its hash', '^0x[0-9a-f]{64}$', `0x${'5f'.repeat(32)}`),
  'X-Block-Timestamp': text('Its time in Unix seconds', '^\\d+$', '1800000000'),
  'X-Stale': text('`1` when the source that should have answered is out of reach, else absent', '^1$', '1'),
  'X-Index-Lag': text('Seconds that the index is behind the chain, the furthest of several', '^\\d+$', '1'),
  ETag: text(
    'Changes when something of what was read changed, and not with every block; `If-None-Match` gets a 304 until then',
    '^"[!#-~]+"$',
    '"1.0.0~mhx2k1v3q9"',
  ),
  'Cache-Control': text('How long the answer may be kept without asking', '^.+$', 'public, no-cache'),
  Vary: text('What else the answer depends on', '^.+$', 'accept'),
  Link: text(
    'The next page, where there is one; left out where it is longer than 8 KB, when `meta.nextCursor` alone has it',
    '^.+$',
    '</v1/hedge/events/8453/1/positions?cursor=AAAA>; rel="next"',
  ),
  'Server-Timing': text(
    'Milliseconds spent in nodes, database and the service itself',
    '^.+$',
    'rpc;dur=3.1, db;dur=0.8, app;dur=4.2',
  ),
  'Retry-After': text('Seconds after which to come back', '^\\d+$', '1'),
} as const

export type HeaderName = keyof typeof headers
