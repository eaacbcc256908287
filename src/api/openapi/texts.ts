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
