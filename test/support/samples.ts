import fc from 'fast-check'
import type { AbiParameter } from 'viem'

/** A value, and the places in it that are at fault: none, itself (``) or parts of it (`.0.action`). */
type Sample = { readonly value: unknown; readonly faults: readonly string[] }
export type Arb = fc.Arbitrary<Sample>

export const good = (values: fc.Arbitrary<unknown>): Arb => values.map((value) => ({ value, faults: [] }))
export const bad = (values: fc.Arbitrary<unknown>): Arb => values.map((value) => ({ value, faults: [''] }))
export const mostly = (right: Arb, wrong: Arb): Arb =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wrong })

/** Text with one character more, which no fixed format of the API allows. */
export const spoilt = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      texts,
      fc.nat(),
      fc.constantFrom(' ', '-', '+', '.', 'g', '_', '\u0663', '\0', '\u{1f600}', '"', '/', '%', '\n'),
    )
    .map(([text, at, more]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + more + text.slice(place)
    })

/** JSON values that no field accepts. */
export const nonsense = fc.constantFrom<unknown>(
  null,
  [],
  {},
  ['1'],
  1.5,
  -1,
  '',
  ' ',
  'null',
  'undefined',
  'NaN',
  '0x',
  '1e3',
)

const uppercase = (text: string, pick: number): string =>
  pick % 3 === 0 ? text.replace(/[a-f]/g, (it) => it.toUpperCase()) : text
export const hex = (bytes: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.uint8Array({ minLength: bytes, maxLength: bytes }), fc.nat())
    .map(([raw, pick]) => `0x${uppercase(Buffer.from(raw).toString('hex'), pick)}`)

export const digits = fc.oneof(
  fc.nat({ max: 5 }).map(String),
  fc.constantFrom('007', '001', String(Number.MAX_SAFE_INTEGER)),
  fc.nat({ max: 1_000_000 }).map(String),
)
export const amounts = (bits: bigint): fc.Arbitrary<string> =>
  fc.oneof(digits, fc.bigInt({ min: 0n, max: 2n ** bits - 1n }).map(String), fc.constant(String(2n ** bits - 1n)))

export const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc.constantFrom('\u0000', "'; DROP TABLE events", '<b>', '%s'),
)

export const chains = fc.constantFrom('8453', '56', '08453')
export const badChains = fc.oneof(
  spoilt(fc.constant('8453')),
  fc.constantFrom('1', '0', '0x2105', '84530', '9'.repeat(400), '5e1'),
)

/** A JSON value of each ABI type; some by the name as well, since ids may be JSON integers. */
export const argument = ({ name = '', type, ...rest }: AbiParameter): Arb => {
  if (type.endsWith('[]')) return list(argument({ name, ...rest, type: type.slice(0, -2) }))
  if (type === 'tuple' && 'components' in rest) return object(rest.components)
  if (type === 'uint256') {
    const ids = name.endsWith('Id') ? [fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER)] : []
    const wrong = [spoilt(digits), nonsense, fc.constantFrom(2 ** 53, String(2n ** 256n), '9'.repeat(500), true)]
    return mostly(good(fc.oneof(amounts(256n), ...ids)), bad(fc.oneof(...wrong)))
  }
  if (type === 'uint8')
    return mostly(good(fc.nat({ max: 2 })), bad(fc.constantFrom<unknown>(3, -1, 0.5, '0', null, 255)))
  if (type === 'bool') return mostly(good(fc.boolean()), bad(fc.constantFrom<unknown>('true', 0, 1, null, '', {})))
  if (type === 'string') {
    const wrong = fc.constantFrom<unknown>('', '  ', '\n', 'a\ud800', 1, null, [], {})
    return mostly(good(text.filter((it) => it.trim() !== '')), bad(wrong))
  }
  if (type === 'bytes') {
    const right = fc.nat({ max: 60 }).chain(hex)
    return mostly(
      good(right),
      bad(
        fc.oneof(
          spoilt(right),
          right.map((it) => `${it}f`),
          fc.constantFrom('', 'ff', null),
        ),
      ),
    )
  }
  const size = type === 'address' ? 20 : Number(/^bytes(\d+)$/.exec(type)?.[1])
  const wrong = fc.oneof(spoilt(hex(size)), hex(size - 1), hex(size + 1), nonsense)
  return mostly(good(hex(size)), bad(wrong))
}

const list = (item: Arb): Arb =>
  mostly(
    fc.array(item, { maxLength: 3 }).map((items) => ({
      value: items.map(({ value }) => value),
      faults: items.flatMap(({ faults }, at) => faults.map((fault) => `.${at}${fault}`)),
    })),
    bad(fc.constantFrom<unknown>(null, '', 'x', 1, {})),
  )

export const object = (parameters: readonly AbiParameter[], more: Readonly<Record<string, Arb>> = {}): Arb => {
  const named = parameters.map((parameter) => [parameter.name ?? '', argument(parameter)] as const)
  const members = Object.entries({ ...more, ...Object.fromEntries(named) })
  const required = members.filter(([name]) => name !== 'from')
  return fc
    .tuple(
      fc.record(Object.fromEntries(members)),
      // A missing and an unknown member are rarer than a wrong one.
      fc.oneof({ weight: 30, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat() }),
      fc.oneof(
        { weight: 30, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.constantFrom('memo', 'gas', 'x.y') },
      ),
      fc.boolean(),
    )
    .map(([record, left, unknown, withFrom]) => {
      const leftOut = left === null ? undefined : required[left % required.length]?.[0]
      const kept = Object.entries(record).filter(([name]) => name !== leftOut && (name !== 'from' || withFrom))
      const value = Object.fromEntries(kept.map(([name, sample]) => [name, sample.value]))
      const faults = kept.flatMap(([name, sample]) => sample.faults.map((fault) => `.${name}${fault}`))
      return {
        value: unknown === null ? value : { ...value, [unknown]: 1 },
        faults: [...faults, ...[leftOut, unknown].flatMap((name) => (name == null ? [] : [`.${name}`]))],
      }
    })
}
