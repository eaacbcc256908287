import fc from 'fast-check'
import { type AbiFunction, type AbiParameter, decodeFunctionData, getAddress, parseAbiItem } from 'viem'
import { describe, expect, test } from 'vitest'
import { builders } from '../../src/tx/builders.ts'
import { compile } from '../../src/tx/compile.ts'
import { builders as specified } from '../vectors/specification.ts'

const compiled = builders.map(compile)
const byPath = new Map(compiled.map((builder) => [builder.path as string, builder]))

const builderAt = (path: string) => {
  const builder = byPath.get(path)
  if (builder === undefined) throw new Error(`no builder ${path}`)
  return builder
}

const signatureOf = (path: string): AbiFunction => parseAbiItem([`function ${specified[path]}`] as never) as never

/** A value as a body sends it, as the ABI decodes it and as the echo shows it. */
type Sample = { readonly sent: unknown; readonly decoded: unknown; readonly echoed: unknown }

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const bytesArb = (length?: number) =>
  fc
    .uint8Array(length === undefined ? { maxLength: 80 } : { minLength: length, maxLength: length })
    .map((bytes): Sample => {
      const hex = hexOf(bytes)
      return { sent: hex.replace(/[a-f]/g, (digit) => digit.toUpperCase()), decoded: hex, echoed: hex }
    })
const addressArb = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes): Sample => {
  const address = getAddress(hexOf(bytes) as never)
  return { sent: address.toLowerCase(), decoded: address, echoed: address }
})

const sampleOf = (parameter: AbiParameter): fc.Arbitrary<Sample> => {
  if (parameter.type === 'tuple[]') {
    const components = 'components' in parameter ? (parameter.components as readonly AbiParameter[]) : []
    return fc.array(objectOf(components), { maxLength: 3 }).map((items) => ({
      sent: items.map(({ sent }) => sent),
      decoded: items.map(({ decoded }) => decoded),
      echoed: JSON.stringify(items.map(({ decoded }) => decoded)),
    }))
  }
  if (parameter.type === 'bytes4[]') {
    return fc.array(bytesArb(4), { maxLength: 4 }).map((items) => ({
      sent: items.map(({ sent }) => sent),
      decoded: items.map(({ decoded }) => decoded),
      echoed: '',
    }))
  }
  if (parameter.type === 'address') return addressArb
  if (parameter.type === 'bool') return fc.boolean().map((value) => ({ sent: value, decoded: value, echoed: value }))
  if (parameter.type === 'bytes') return bytesArb()
  if (parameter.type === 'bytes32') return bytesArb(32)
  if (parameter.type === 'uint8') {
    return fc.integer({ min: 0, max: 2 }).map((value) => ({ sent: value, decoded: value, echoed: value }))
  }
  if (parameter.type === 'string') {
    return fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => text.trim() !== '')
      .map((text) => ({ sent: text, decoded: text, echoed: text }))
  }
  if (parameter.type === 'uint256') {
    return fc
      .bigInt({ min: 0n, max: 2n ** 256n - 1n })
      .map((value) => ({ sent: value.toString(), decoded: value, echoed: value.toString() }))
  }
  throw new Error(`no sample for ${parameter.type}`)
}

const objectOf = (parameters: readonly AbiParameter[]): fc.Arbitrary<Record<'sent' | 'decoded' | 'echoed', object>> =>
  fc
    .record(Object.fromEntries(parameters.map((parameter) => [parameter.name ?? '', sampleOf(parameter)])))
    .map((samples) => {
      const pick = (part: keyof Sample): object =>
        Object.fromEntries(Object.entries(samples).map(([name, sample]) => [name, sample[part]]))
      return { sent: pick('sent'), decoded: pick('decoded'), echoed: pick('echoed') }
    })

const membersOf = ({ inputs: [first, ...more], inputs }: AbiFunction): readonly AbiParameter[] =>
  first?.type === 'tuple' && more.length === 0 && 'components' in first ? first.components : inputs

const token = '0x000000000000000000000000000000000000dEaD'
const diamond = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

describe('the table of builders', () => {
  test('the table of builders equals the specification', () => {
    expect(compiled.map(({ path }) => path).sort()).toEqual(Object.keys(specified).sort())
  })

  test.each(Object.keys(specified))('the calldata of %s decodes to the request’s arguments', (path) => {
    const builder = builderAt(path)
    const signature = signatureOf(path)
    fc.assert(
      fc.property(objectOf(membersOf(signature)), ({ sent, decoded, echoed }) => {
        const target = path === '/tx/erc20/approve' ? { token: token.toLowerCase() } : {}
        const body = builder.body.parse({ chainId: 56, ...target, ...sent })
        const { functionName, args = [] } = decodeFunctionData({ abi: [signature], data: builder.encode(body) })

        expect(functionName).toBe(builder.function)
        const values = membersOf(signature) === signature.inputs ? Object.values(decoded) : [decoded]
        expect(args).toEqual(values)
        expect(builder.echo(body)).toEqual(echoed)
        expect(builder.to(body, diamond)).toBe(path === '/tx/erc20/approve' ? token : diamond)
      }),
      { numRuns: 50, verbose: true },
    )
  })
})

describe('bodies of builders', () => {
  const deposit = { chainId: 8453, eventId: '1', amount: '5' }
  const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  const cut = { facetAddress: wallet, action: 0, functionSelectors: ['0x01020304'] }
  const upgrade = { chainId: 56, cuts: [cut], init: wallet, initData: '0x' }
  const approval = { chainId: 56, token: wallet, spender: wallet, amount: '1' }
  const createEvent = {
    chainId: 8453,
    name: 'Cedi',
    underlying: 'USD/GHS',
    strike: '12000000',
    payoutCap: '13500000',
    premiumRate: '23000',
    expiry: '1800000000',
    allowExternalLp: true,
    initialLiquidity: '1000000000',
    initialRate: '11400000',
    strikeAbove: true,
    paymentToken: wallet,
    signature: '0x',
    quoteTimestamp: '0',
    quoteNonce: `0x${'0'.repeat(64)}`,
  }

  const accepted: [string, string, object][] = [
    ['an id as a JSON integer', '/tx/hedge/deposit', { ...deposit, eventId: 1 }],
    ['a chain id as a string', '/tx/hedge/deposit', { ...deposit, chainId: '56' }],
    ['the largest uint256', '/tx/hedge/deposit', { ...deposit, amount: (2n ** 256n - 1n).toString() }],
    ['the wallet to estimate for', '/tx/hedge/deposit', { ...deposit, from: wallet.toLowerCase() }],
    ['a function without arguments', '/tx/hedge/pause', { chainId: 56 }],
    ['a self-priced event', '/tx/hedge/create-event', createEvent],
    ['an upgrade', '/tx/governance/diamond-cut', upgrade],
  ]
  test.each(accepted)('a builder accepts %s', (_, path, body) => {
    expect(builderAt(path).body.safeParse(body).error).toBeUndefined()
  })

  const refused: [string, string, object, string][] = [
    ['an unsupported chain', '/tx/hedge/deposit', { ...deposit, chainId: 1 }, 'chainId'],
    ['a missing chain', '/tx/hedge/pause', {}, 'chainId'],
    ['an unknown field', '/tx/hedge/deposit', { ...deposit, memo: 'x' }, ''],
    ['2^256', '/tx/hedge/deposit', { ...deposit, amount: (2n ** 256n).toString() }, 'amount'],
    ['a negative amount', '/tx/hedge/deposit', { ...deposit, amount: '-1' }, 'amount'],
    ['a fraction', '/tx/hedge/deposit', { ...deposit, amount: '1.5' }, 'amount'],
    ['an exponent', '/tx/hedge/deposit', { ...deposit, amount: '1e6' }, 'amount'],
    ['hex for a number', '/tx/hedge/deposit', { ...deposit, amount: '0x10' }, 'amount'],
    ['blanks around a number', '/tx/hedge/deposit', { ...deposit, amount: ' 5 ' }, 'amount'],
    ['nothing for a number', '/tx/hedge/deposit', { ...deposit, amount: '' }, 'amount'],
    ['a JSON number for an amount', '/tx/hedge/deposit', { ...deposit, amount: 5 }, 'amount'],
    ['a negative id', '/tx/hedge/deposit', { ...deposit, eventId: -1 }, 'eventId'],
    ['an id past what JSON can say', '/tx/hedge/deposit', { ...deposit, eventId: 2 ** 53 }, 'eventId'],
    ['a short address', '/tx/erc20/approve', { ...approval, token: '0x1234' }, 'token'],
    ['a missing token', '/tx/erc20/approve', { ...approval, token: undefined }, 'token'],
    ['a malformed wallet', '/tx/hedge/deposit', { ...deposit, from: 'me' }, 'from'],
    ['a boolean as text', '/tx/hedge/create-event', { ...createEvent, strikeAbove: 'true' }, 'strikeAbove'],
    ['a blank name', '/tx/hedge/create-event', { ...createEvent, name: '  ' }, 'name'],
    ['half a character', '/tx/hedge/create-event', { ...createEvent, name: 'a\ud800' }, 'name'],
    ['odd hex', '/tx/hedge/create-event', { ...createEvent, signature: '0x123' }, 'signature'],
    ['a short bytes32', '/tx/hedge/create-event', { ...createEvent, quoteNonce: '0x00' }, 'quoteNonce'],
    [
      'a facet action past 2',
      '/tx/governance/diamond-cut',
      { ...upgrade, cuts: [{ ...cut, action: 3 }] },
      'cuts.0.action',
    ],
    [
      'a facet action below 0',
      '/tx/governance/diamond-cut',
      { ...upgrade, cuts: [{ ...cut, action: -1 }] },
      'cuts.0.action',
    ],
    [
      'a selector of three bytes',
      '/tx/governance/diamond-cut',
      { ...upgrade, cuts: [{ ...cut, functionSelectors: ['0x010203'] }] },
      'cuts.0.functionSelectors.0',
    ],
    ['an unknown field in a cut', '/tx/governance/diamond-cut', { ...upgrade, cuts: [{ ...cut, x: 1 }] }, 'cuts.0'],
  ]
  test.each(refused)('a builder rejects %s', (_, path, body, at) => {
    const { error } = builderAt(path).body.safeParse(body)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([at])
  })
})

describe('addresses with a wrong EIP-55 checksum', () => {
  const right = getAddress('0x52908400098527886e0f7030069857d2e4169ee7')
  const checksummed = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const wrong = checksummed.replace('aA', 'Aa')
  const spellings = [checksummed, checksummed.toLowerCase(), `0x${checksummed.slice(2).toUpperCase()}`, right]

  /** The paths of the addresses in a builder's body. */
  const placesOf = (parameters: readonly AbiParameter[], at = ''): readonly string[] =>
    parameters.flatMap((parameter) => {
      const place = `${at}${parameter.name}`
      if (parameter.type === 'address') return [place]
      return 'components' in parameter ? placesOf(parameter.components as readonly AbiParameter[], `${place}.0.`) : []
    })

  const withAddress = (value: unknown, [name = '', ...rest]: readonly string[], address: string): unknown => {
    if (rest.length === 0) return { ...(value as object), [name]: address }
    const inner = (value as Record<string, readonly unknown[]>)[name] ?? []
    return { ...(value as object), [name]: [withAddress(inner[0], rest.slice(1), address)] }
  }

  const cases = Object.keys(specified).flatMap((path) => {
    const places = placesOf(membersOf(signatureOf(path)))
    return [...places, ...(path === '/tx/erc20/approve' ? ['token'] : [])].map((place) => [path, place] as const)
  })

  test('15 arguments are addresses that receive tokens or rights, including the token of a token call and the facets of an upgrade', () => {
    const names = cases.map(([, place]) => place)
    expect(names).toEqual(expect.arrayContaining(['token', 'spender', 'to', 'admin', 'newOwner', 'oracle', 'signer']))
    expect(names).toEqual(expect.arrayContaining(['paymentToken', 'init', 'cuts.0.facetAddress']))
    expect(names).toHaveLength(15)
  })

  test.each(cases)(
    'a wrong checksum is rejected by %s at %s, and one letter case or the right checksum is accepted',
    (path, place) => {
      const [sample] = fc.sample(objectOf(membersOf(signatureOf(path))), { numRuns: 1, seed: 1 })
      const cuts = [{ facetAddress: right, action: 0, functionSelectors: ['0x01020304'] }]
      const target = path === '/tx/erc20/approve' ? { token } : {}
      const valid = { chainId: 56, ...target, ...sample?.sent, ...(place.startsWith('cuts') && { cuts }) }
      const { body } = builderAt(path)
      const { error } = body.safeParse(withAddress(valid, place.split('.'), wrong))
      expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([place])
      expect(error?.issues[0]?.message).toMatch(/EIP-55 checksum/)
      for (const spelling of spellings)
        expect(body.safeParse(withAddress(valid, place.split('.'), spelling)).error).toBeUndefined()
    },
  )

  test('a wrong checksum is accepted in `from`, which receives nothing', () => {
    expect(builderAt('/tx/hedge/pause').body.parse({ chainId: 56, from: wrong }).from).toBe(checksummed)
  })
})
