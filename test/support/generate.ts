import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { type AbiFunction, type AbiParameter, parseAbiItem } from 'viem'
import { builders, gets } from '../vectors/specification.ts'
import {
  type Arb,
  amounts,
  argument,
  bad,
  badChains,
  chains,
  digits,
  good,
  hex,
  mostly,
  nonsense,
  object,
  spoilt,
  text,
} from './samples.ts'

/** A request and its allowed outcomes: the statuses, and for a 400 the fields that its details must name. */
export type Generated = {
  /** The path by which the specification lists it; empty for what it does not list. */
  readonly operation: string
  readonly request: InjectOptions & { readonly url: string }
  readonly statuses: readonly number[]
  readonly faults: readonly string[]
}

/** A path or query of every kind of parameter. */
const parameters = (wallets: readonly string[]): Readonly<Record<string, Arb>> => {
  const id = mostly(
    good(digits),
    bad(fc.oneof(spoilt(digits), fc.constantFrom('9007199254740992', '9'.repeat(300), '0x1', '1e1', 'first', ' '))),
  )
  const rate = mostly(
    good(amounts(128n)),
    bad(fc.oneof(spoilt(digits), fc.constantFrom('', String(2n ** 256n), '1.5'))),
  )
  const wallet = fc.oneof(fc.constantFrom(...wallets, ...wallets.map((it) => it.toLowerCase())), hex(20))
  return {
    chainId: mostly(good(chains), bad(badChains)),
    id,
    eventId: id,
    addr: mostly(
      good(wallet),
      bad(
        fc.oneof(
          spoilt(wallet),
          hex(19),
          hex(21),
          hex(20).map((it) => it.slice(2)),
        ),
      ),
    ),
    proposalId: mostly(good(hex(32)), bad(fc.oneof(spoilt(hex(32)), hex(31), hex(33)))),
    hypoSettlement: rate,
    notional: rate,
    limit: mostly(
      good(fc.constantFrom('1', '2', '10000')),
      bad(fc.oneof(spoilt(digits), fc.constantFrom('0', '10001', '', '1e1'))),
    ),
    cursor: bad(fc.oneof(fc.base64String({ maxLength: 40 }), text, fc.constant(''))),
  }
}

const membersOf = ({ inputs, inputs: [first, ...others] }: AbiFunction): readonly AbiParameter[] =>
  first?.type === 'tuple' && others.length === 0 && 'components' in first ? first.components : inputs

const post = (path: string, payload: string, type = 'application/json') => ({
  method: 'POST' as const,
  url: `/v1${path}`,
  headers: { 'content-type': type },
  payload,
})

const bodyChain = mostly(
  good(fc.constantFrom<unknown>(8453, 56, '8453', '056')),
  bad(fc.oneof(badChains, nonsense, fc.constantFrom(1, 8453.5))),
)
const address: AbiParameter = { name: '', type: 'address' }

/** A body of a builder; sometimes invalid as a whole. */
const builds = (path: string, signature: string): fc.Arbitrary<Generated> => {
  const item = parseAbiItem([`function ${signature}`] as readonly string[]) as AbiFunction
  const token = path === '/tx/erc20/approve' ? { token: argument(address) } : {}
  const body = object(membersOf(item), { chainId: bodyChain, ...token, from: argument(address) })
  const whole = body.map(({ value, faults }): Generated => {
    const named = faults.map((fault) => fault.slice(1))
    return {
      operation: path,
      request: post(path, JSON.stringify(value)),
      statuses: [named.length > 0 ? 400 : 200],
      faults: named,
    }
  })
  const broken = fc
    .constantFrom('', 'null', '[]', '1', '"x"', '{', '{"a":}', '{"__proto__":1}', '{"chainId":56,}', '\u0000', 'NaN')
    .map((payload): Generated => ({ operation: path, request: post(path, payload), statuses: [400], faults: ['body'] }))
  const typed = fc
    .constantFrom('text/plain', 'application/xml', 'json', 'multipart/form-data')
    .map((type): Generated => ({ operation: path, request: post(path, '{}', type), statuses: [415], faults: ['body'] }))
  return fc.oneof({ weight: 30, arbitrary: whole }, { weight: 1, arbitrary: broken }, { weight: 1, arbitrary: typed })
}

const encoded = (value: unknown): string => encodeURIComponent(String(value))

/** A read's path and query. The path is validated first, so a fault in it hides those of the query. */
const reads = (
  path: string,
  named: readonly string[],
  pools: Readonly<Record<string, Arb>>,
): fc.Arbitrary<Generated> => {
  const pool = (name: string): Arb => pools[name] ?? good(fc.constant('1'))
  const inPath = [...path.matchAll(/{(\w+)}/g)].map(([, name = '']) => name)
  const needed = named.filter((name) => name !== 'chainId')
  const listed = path.includes('/wallet/') || /\/(positions|deposits)$/.test(path) ? ['limit', 'cursor'] : []
  const optional = [...named.filter((name) => name === 'chainId'), ...listed]
  const chance = (weight: number): fc.Arbitrary<boolean> =>
    fc.oneof({ weight, arbitrary: fc.constant(true) }, { weight: 10, arbitrary: fc.constant(false) })
  return fc
    .record({
      path: fc.record(Object.fromEntries(inPath.map((name) => [name, pool(name)]))),
      query: fc.record(Object.fromEntries([...needed, ...optional].map((name) => [name, pool(name)]))),
      absent: fc.record(
        Object.fromEntries([
          ...needed.map((name) => [name, chance(1)] as const),
          ...optional.map((name) => [name, chance(name === 'cursor' ? 90 : 20)] as const),
        ]),
      ),
      stranger: chance(2),
    })
    .map(({ path: parts, query, absent, stranger }) => {
      const url = path.replace(/{(\w+)}/g, (_, name: string) => encoded(parts[name]?.value))
      const sent = Object.entries(query).filter(([name]) => !absent[name])
      const search = [...sent.map(([name, { value }]) => `${name}=${encoded(value)}`), ...(stranger ? ['x=1'] : [])]
      const ofPath = inPath.filter((name) => parts[name]?.faults.length)
      const ofQuery = [
        ...sent.flatMap(([name, { faults }]) => (faults.length > 0 ? [name] : [])),
        ...needed.filter((name) => absent[name]),
        ...(stranger ? ['x'] : []),
      ]
      // A cursor is judged by the list and not by the schema: what is wrong by the schema comes first.
      const bySchema = ofQuery.filter((name) => name !== 'cursor')
      const faults = [ofPath, bySchema, ofQuery].find((names) => names.length > 0) ?? []
      const statuses = faults.length > 0 ? [400] : /{(id|eventId|proposalId)}/.test(path) ? [200, 404] : [200]
      return {
        operation: path,
        request: { url: `/v1${url}${search.length > 0 ? `?${search.join('&')}` : ''}` },
        statuses,
        faults,
      }
    })
}

/** Values separated by commas: all valid, or one of them invalid. */
const some = (item: fc.Arbitrary<unknown>, wrong: fc.Arbitrary<unknown>, max: number): Arb => {
  const right = fc.array(item, { minLength: 1, maxLength: max }).map((items) => items.join())
  return mostly(
    good(right),
    bad(
      fc.oneof(
        fc.tuple(right, wrong).map((parts) => parts.join()),
        fc.constantFrom('', ',', ' ', '8453,,56'),
      ),
    ),
  )
}

/** What lists and portfolios take, by name. */
const listed = (wallets: readonly string[]): Readonly<Record<string, Arb>> => {
  const wallet = fc.oneof(fc.constantFrom(...wallets, ...wallets.map((it) => it.toLowerCase())), hex(20))
  const flag = mostly(good(fc.constantFrom('true', 'false')), bad(fc.constantFrom('', '1', 'TRUE', 'yes')))
  const time = mostly(good(digits), bad(fc.oneof(spoilt(digits), fc.constantFrom('', '9007199254740992', '-1'))))
  const oneOf = (...words: readonly string[]): Arb =>
    mostly(good(fc.constantFrom(...words)), bad(fc.constantFrom('', 'none', `${words[0]} `, words.join())))
  const wallets100 = some(
    wallet,
    fc.oneof(
      hex(19),
      spoilt(wallet).filter((it) => !it.includes(',')),
    ),
    5,
  )
  return {
    chainId: some(
      chains,
      badChains.filter((it) => !it.includes(',')),
      2,
    ),
    limit: mostly(
      good(fc.constantFrom('1', '2', '50', '200')),
      bad(fc.constantFrom('0', '201', '', '1e1', '-1', '007x')),
    ),
    cursor: bad(fc.oneof(fc.base64String({ maxLength: 40 }), text, fc.constant(''))),
    order: oneOf('asc', 'desc'),
    sort: oneOf('created', 'expiry'),
    state: oneOf('open', 'expired', 'settled', 'triggered'),
    include: some(fc.constantFrom('stats', 'utilization', 'range'), fc.constantFrom('core', 'Stats', 'event'), 3),
    ofDeposit: some(fc.constantFrom('stats', 'utilization', 'range', 'event'), fc.constantFrom('core', 'payout'), 4),
    ofPosition: some(
      fc.constantFrom('stats', 'utilization', 'range', 'event', 'payout'),
      fc.constantFrom('core', 'balances'),
      5,
    ),
    ofWallet: some(fc.constantFrom('event', 'balances'), fc.constantFrom('stats', 'Event'), 2),
    count: flag,
    // The client of the tests reads JSON.
    format: mostly(good(fc.constant('json')), bad(fc.constantFrom('xml', 'CSV', ''))),
    // Alone it does not wait.
    waitMs: mostly(good(fc.constantFrom('0', '10000')), bad(fc.constantFrom('', '10001', '1e3', '-1'))),
    minBlock: bad(fc.constantFrom('', '-1', '1.5', '9007199254740992')),
    wallet: wallets100,
    creator: wallets100,
    eventId: time,
    expiryFrom: time,
    expiryTo: time,
    ...Object.fromEntries(['claimable', 'claimed', 'withdrawn', 'strikeAbove', 'poolOpen'].map((name) => [name, flag])),
    underlying: mostly(
      good(fc.constantFrom('USD/GHS', 'usd/ngn', "a\u0000'b")),
      bad(fc.constantFrom('', 'x'.repeat(101))),
    ),
    symbol: mostly(good(fc.constantFrom('USDC', 'usdt', "a\u0000'b")), bad(fc.constantFrom('', 'x'.repeat(33)))),
    capacityFrom: mostly(good(amounts(256n)), bad(fc.constantFrom('', '-1', '1e3', String(2n ** 256n)))),
    paymentToken: mostly(good(wallet), bad(fc.oneof(hex(19), hex(21), fc.constant('')))),
  }
}

const filters: Readonly<Record<string, readonly string[]>> = {
  '/hedge/events':
    'sort creator underlying paymentToken symbol strikeAbove poolOpen capacityFrom state expiryFrom expiryTo'.split(
      ' ',
    ),
  '/hedge/positions': 'wallet eventId claimable claimed'.split(' '),
  '/hedge/deposits': 'wallet eventId claimable withdrawn'.split(' '),
}

/** A page of a list: a few of its filters at a time. */
const lists = (path: string, wallets: readonly string[]): fc.Arbitrary<Generated> => {
  const pools = listed(wallets)
  const names = [
    'chainId',
    'limit',
    'order',
    'include',
    'count',
    'format',
    'waitMs',
    'minBlock',
    ...(filters[path] ?? []),
  ]
  const include = { '/hedge/positions': 'ofPosition', '/hedge/deposits': 'ofDeposit' }[path] ?? 'include'
  const of = (name: string): string => (name === 'include' ? include : name)
  return fc.subarray(names, { maxLength: 5 }).chain((chosen) =>
    fc
      .tuple(
        fc.record(Object.fromEntries(chosen.map((name) => [name, pools[of(name)] ?? good(fc.constant('1'))]))),
        fc.oneof(
          { weight: 9, arbitrary: fc.constant(null) },
          { weight: 1, arbitrary: pools.cursor ?? good(fc.constant('')) },
        ),
      )
      .map(([query, cursor]) => {
        const sent = Object.entries({ ...query, ...(cursor && { cursor }) })
        const bySchema = sent.flatMap(([name, { faults }]) => (faults.length > 0 && name !== 'cursor' ? [name] : []))
        // A cursor is judged by the list and not by the schema: what is wrong by the schema comes first.
        const faults = bySchema.length > 0 || cursor === null ? bySchema : ['cursor']
        const search = sent.map(([name, { value }]) => `${name}=${encoded(value)}`).join('&')
        return {
          operation: path,
          request: { url: `/v1${path}?${search}` },
          statuses: [faults.length > 0 ? 400 : 200],
          faults,
        }
      }),
  )
}

/** The result of a transaction. The path is validated first, so a fault in it hides one of the query. */
const transactions = (
  known: readonly string[],
  { chainId }: Readonly<Record<string, Arb>>,
): fc.Arbitrary<Generated> => {
  const upper = known.map((hash) => `0x${hash.slice(2).toUpperCase()}`)
  const hash = mostly(
    good(fc.oneof(fc.constantFrom(...known, ...upper), hex(32))),
    bad(fc.oneof(spoilt(hex(32)), hex(31), hex(33))),
  )
  const waitMs = mostly(good(fc.constantFrom('0', '1', '50')), bad(fc.constantFrom('', '30001', '1e3', '-1', '0x1')))
  const path = '/transactions/{chainId}/{hash}'
  return fc
    .tuple(chainId ?? good(chains), hash, fc.option(waitMs, { nil: undefined }))
    .map(([chain, its, wait]): Generated => {
      const ofPath = [...chain.faults.map(() => 'chainId'), ...its.faults.map(() => 'hash')]
      const faults = ofPath.length > 0 ? ofPath : (wait?.faults.map(() => 'waitMs') ?? [])
      const query = wait === undefined ? '' : `?waitMs=${encoded(wait.value)}`
      const url = `/v1/transactions/${encoded(chain.value)}/${encoded(its.value)}${query}`
      return { operation: path, request: { url }, statuses: [faults.length > 0 ? 400 : 200], faults }
    })
}

/** A portfolio or the balances of one wallet. */
const walletReads = (wallets: readonly string[]): fc.Arbitrary<Generated> => {
  const { addr = good(fc.constant('')) } = parameters(wallets)
  const none = good(fc.constant('1'))
  const { chainId = none, waitMs = none, minBlock = none, ofWallet = none } = listed(wallets)
  const state = mostly(good(fc.constantFrom('active', 'all')), bad(fc.constantFrom('', 'open', 'All')))
  const pools: Readonly<Record<'balances' | 'portfolio', Readonly<Record<string, Arb>>>> = {
    balances: { chainId, waitMs, minBlock },
    portfolio: { chainId, waitMs, minBlock, state, ofWallet },
  }
  return fc
    .constantFrom('balances' as const, 'portfolio' as const)
    .chain((read) => fc.tuple(fc.constant(read), addr, fc.record(pools[read], { requiredKeys: [] })))
    .map(([read, { value, faults: ofPath }, query]) => {
      const sent = Object.entries(query).flatMap(([name, sample]) =>
        sample === undefined ? [] : [[name === 'ofWallet' ? 'include' : name, sample] as const],
      )
      const ofQuery = sent.flatMap(([name, { faults }]) => (faults.length > 0 ? [name] : []))
      const faults = ofPath.length > 0 ? ['addr'] : ofQuery
      const search = sent.map(([name, sample]) => `${name}=${encoded(sample.value)}`).join('&')
      return {
        operation: `/wallets/{addr}/${read}`,
        request: { url: `/v1/wallets/${encoded(value)}/${read}?${search}` },
        statuses: [faults.length > 0 ? 400 : 200],
        faults,
      }
    })
}

const portfolios = (wallets: readonly string[]): fc.Arbitrary<Generated> => {
  const body = object([], {
    wallets: mostly(
      good(fc.array(fc.oneof(fc.constantFrom(...wallets), hex(20)), { minLength: 1, maxLength: 4 })),
      bad(
        fc.constantFrom<unknown>(
          [],
          null,
          {},
          '0x',
          Array.from({ length: 101 }, () => wallets[0]),
        ),
      ),
    ),
    state: mostly(good(fc.constantFrom('active', 'all')), bad(fc.constantFrom<unknown>('', 'open', 1, null))),
  })
  return body.map(({ value, faults }) => {
    // A missing optional field is not a fault.
    const named = faults.map((fault) => fault.slice(1)).filter((name) => name !== 'state' || 'state' in Object(value))
    return {
      operation: '/wallets/portfolio',
      request: post('/wallets/portfolio', JSON.stringify(value)),
      statuses: [named.length > 0 ? 400 : 200],
      faults: named,
    }
  })
}

const relays: fc.Arbitrary<Generated> = fc
  .tuple(
    bodyChain,
    mostly(
      // Of an unknown type, so that the bytes are no transaction and the node decides.
      good(
        fc
          .integer({ min: 1, max: 200 })
          .chain(hex)
          .map((bytes) => bytes.replace('0x', '0x05')),
      ),
      bad(fc.oneof(spoilt(hex(40)), fc.constantFrom<unknown>('', '0x', null, 7))),
    ),
    mostly(good(fc.constantFrom<unknown>(undefined, true, false)), bad(fc.constantFrom<unknown>('true', 1, null))),
  )
  .map(([chainId, signedTx, rejectIfReverts]) => {
    const faults = [
      ...chainId.faults.map(() => 'chainId'),
      ...signedTx.faults.map(() => 'signedTx'),
      ...rejectIfReverts.faults.map(() => 'rejectIfReverts'),
    ]
    const body = { chainId: chainId.value, signedTx: signedTx.value, rejectIfReverts: rejectIfReverts.value }
    const payload = JSON.stringify(body)
    return {
      operation: '/tx/broadcast',
      request: post('/tx/broadcast', payload),
      statuses: [faults.length > 0 ? 400 : 502],
      faults,
    }
  })

const positive = (max: number): Arb =>
  mostly(
    good(fc.double({ min: 0.01, max, noNaN: true })),
    bad(fc.constantFrom<unknown>(0, -1, '12', null, 1e10, 1e-7, [], {})),
  )

const terms = object([{ name: 'strikeAbove', type: 'bool' }], {
  pair: mostly(
    good(fc.constantFrom('USD/GHS', 'GHS/USD', 'EUR/USD', 'EUR/GBP', 'USD/XXX')),
    bad(fc.constantFrom<unknown>('', 'US', 'USDGHS', 'USD/GHS/EUR', 7, null)),
  ),
  strike: positive(30),
  payoutCap: positive(30),
  expiryUnixSeconds: mostly(
    good(fc.integer({ min: 1, max: 4_000_000_000 })),
    bad(fc.constantFrom<unknown>(0, -1, 1.5, '1', null, 2 ** 53)),
  ),
  notional: positive(1_000_000),
})

/**
 * A quote with none, some or all of the fields that a signature needs. The engine may reject a quote that fits the
 * schema.
 */
const quotes: fc.Arbitrary<Generated> = fc
  .tuple(
    terms,
    fc.record({ chainId: chains.map(Number), diamondAddress: hex(20), creator: hex(20) }),
    fc.nat({ max: 9 }),
  )
  .map(([{ value, faults }, signing, kind]) => {
    const names = Object.keys(signing)
    // The three fields are checked for completeness only after each of them is valid.
    const left = kind < 2 && faults.length === 0 ? names.slice(kind + 1) : []
    const added = kind < 5 ? Object.entries(signing).filter(([name]) => !left.includes(name)) : []
    const named = [...faults.map((fault) => fault.slice(1)), ...left]
    return {
      operation: '/pricing/quote',
      request: post('/pricing/quote', JSON.stringify({ ...Object(value), ...Object.fromEntries(added) })),
      statuses: named.length > 0 ? [400] : [200, 400],
      faults: named,
    }
  })

/** Actions by the builder of their call; some arguments are worked out by the plan. */
const planned: Readonly<Record<string, readonly string[]>> = {
  '/tx/hedge/create-event': [],
  '/tx/hedge/deposit': [],
  '/tx/hedge/buy-protection': ['maxCost', 'deadline'],
  '/tx/hedge/claim-payout': [],
  '/tx/hedge/claim-premiums': [],
  '/tx/hedge/withdraw-capital': [],
  '/tx/hedge/withdraw-creator-earnings': [],
  '/tx/hedge/set-pool-settings': [],
  '/tx/oracle/submit-rate': [],
}

const planPath = (builder: string): string => `/plans/${builder.split('/').at(-1)}`

/** The paths of all plans. */
export const planPaths: readonly string[] = [
  ...Object.keys(planned).map(planPath),
  '/plans/claim-all',
  '/plans/revoke-approval',
]

/** Fields that plans may leave out. */
const planOptions = {
  deadlineSeconds: mostly(
    good(fc.integer({ min: 1, max: 86_400 })),
    bad(fc.constantFrom<unknown>(0, -1, 1.5, 86_401, '600', null, [])),
  ),
  maxCostBps: mostly(
    good(fc.integer({ min: 0, max: 10_000 })),
    bad(fc.constantFrom<unknown>(-1, 0.5, 10_001, '0', null, {})),
  ),
  approval: mostly(
    good(fc.constantFrom('exact', 'unlimited')),
    bad(fc.constantFrom<unknown>('', 'Exact', 1, null, true)),
  ),
  force: mostly(good(fc.boolean()), bad(fc.constantFrom<unknown>('true', 0, 1, null))),
}

type PlanOption = keyof typeof planOptions

/** The optional fields that a plan has, by its path. */
const optionsOf = (path: string): PlanOption[] => {
  if (path === '/plans/buy-protection') return ['deadlineSeconds', 'maxCostBps', 'approval', 'force']
  return path === '/plans/deposit' || path === '/plans/create-event' ? ['approval', 'force'] : ['force']
}

/** What an event takes from a quote, and what only a signed event has. */
const quotedFields = ['underlying', 'strike', 'payoutCap', 'premiumRate', 'expiry', 'initialRate', 'strikeAbove']
const signedFields = ['signature', 'quoteTimestamp', 'quoteNonce']

/** A plan of the fields in `members`. With `quote`, the terms of an event come from it. */
const planOf = (
  path: string,
  members: readonly AbiParameter[],
  wallets: readonly string[],
  more: Readonly<Record<string, Arb>> = {},
): fc.Arbitrary<Generated> => {
  const wallet = mostly(good(fc.oneof(fc.constantFrom(...wallets), hex(20))), bad(fc.oneof(hex(19), hex(21), nonsense)))
  // `object` takes a member `from` for an optional one.
  const body = object(members, { ...more, chainId: bodyChain, wallet })
  const named = (name: string): string => (name === 'wallet' ? 'from' : name)
  return fc
    .tuple(body, fc.record(planOptions), fc.subarray(optionsOf(path)))
    .map(([{ value, faults }, options, chosen]): Generated => {
      const renamed = Object.fromEntries(Object.entries(Object(value)).map(([name, it]) => [named(name), it]))
      const sent = { ...renamed, ...Object.fromEntries(chosen.map((name) => [name, options[name].value])) }
      const missing = (name: string): boolean => !(name in sent)
      const found = [
        ...faults.map((fault) => named(fault.slice(1))),
        ...chosen.filter((name) => options[name].faults.length > 0),
      ]
        .filter((name) => !(missing(name) && signedFields.includes(name)))
        // Without a quote its terms are missing.
        .flatMap((name) => (name === 'quote' && missing(name) ? quotedFields : [name]))
      // Whether terms are complete is judged once each field is valid.
      const others = found.filter((name) => !(missing(name) && quotedFields.includes(name)))
      const isOfQuote = 'quote' in sent
      const wrong = others.length > 0 ? others : found
      return {
        operation: path,
        request: post(path, JSON.stringify(sent)),
        statuses: wrong.length > 0 ? [400] : isOfQuote ? [200, 400] : [200],
        faults: wrong,
      }
    })
}

/** Bodies of every plan. */
export const plans = (wallets: readonly string[]): fc.Arbitrary<Generated> => {
  const created: AbiParameter[] = []
  const actions = Object.entries(planned).map(([builder, derived]) => {
    const item = parseAbiItem([`function ${builders[builder]}`] as readonly string[]) as AbiFunction
    const members = membersOf(item).filter(({ name }) => !derived.includes(name ?? ''))
    if (builder.endsWith('create-event')) created.push(...members)
    return planOf(planPath(builder), members, wallets)
  })
  const left = created.filter(({ name = '' }) => ![...quotedFields, ...signedFields].includes(name))
  return fc.oneof(
    ...actions,
    planOf('/plans/create-event', left, wallets, { quote: terms }),
    planOf('/plans/claim-all', [], wallets),
    planOf('/plans/revoke-approval', [{ ...address, name: 'token' }], wallets),
  )
}

const asks = (tokens: readonly string[]): fc.Arbitrary<Generated> =>
  fc
    .oneof(
      fc.constantFrom(...tokens).map((token) => [`Bearer ${token}`, 200] as const),
      fc.stringMatching(/^Bearer [a-zA-Z0-9._~+/-]{1,60}$/).map((header) => [header, 401] as const),
      fc
        .constantFrom('', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b', 'Bearer "x"')
        .map((it) => [it, 401] as const),
    )
    .map(([authorization, status]) => ({
      operation: '/me',
      request: { url: '/v1/me', headers: { authorization } },
      statuses: [status],
      faults: [],
    }))

const strays: fc.Arbitrary<Generated> = fc.oneof(
  fc
    .constantFrom(
      '/v1',
      '/v1/',
      '/v1/tx',
      '/v1/hedge',
      '/v1/wallets',
      '/v1/chains/8453',
      '/v2/chains',
      '/v1/hedge//fees',
    )
    .map((url) => ({ operation: '', request: { url }, statuses: [404], faults: [] })),
  fc
    .constantFrom('PUT', 'DELETE', 'PATCH', 'POST')
    .map((method) => ({ operation: '', request: { method, url: '/v1/chains' } as const, statuses: [404], faults: [] })),
  fc.constantFrom('%', '%zz', '%e0%a4', '%ff').map((id) => ({
    operation: '',
    request: { url: `/v1/hedge/events/8453/${id}` },
    statuses: [400],
    faults: ['url'],
  })),
)

/**
 * Requests to every operation of the specification: valid ones, ones at a limit, and invalid ones.
 */
export const requests = (known: {
  readonly wallets: readonly string[]
  readonly tokens: readonly string[]
  readonly transactions: readonly string[]
}): fc.Arbitrary<Generated> => {
  const pools = parameters(known.wallets)
  const served = Object.entries(gets).filter(([path]) => path !== '/me')
  return fc.oneof(
    ...served.map(([path, { query = [] }]) => reads(path, query, pools)),
    ...Object.entries(builders).map(([path, signature]) => builds(path, signature)),
    ...Object.keys(filters).map((path) => lists(path, known.wallets)),
    walletReads(known.wallets),
    portfolios(known.wallets),
    transactions(known.transactions, pools),
    // As often as if each plan were listed.
    { weight: planPaths.length, arbitrary: plans(known.wallets) },
    relays,
    quotes,
    asks(known.tokens),
    strays,
  )
}
