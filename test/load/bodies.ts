import { concatHex, type Hex, toRlp } from 'viem'

/** A route with a body: its body limit in bytes, and a body that it accepts. */
export type Target = { readonly route: string; readonly limit: number; readonly example: unknown }

/** A hostile body as text. `body` builds it on each call, because some are as long as the route allows. */
export type HostileBody = { readonly name: string; readonly route: string; body(): string }

/** Text that makes a whole body of the given length, in bytes. */
type Filler = (room: number) => string

const repeat = (part: string, room: number): string => part.repeat(Math.max(0, Math.floor(room / part.length)))
const list = (item: string, room: number): string => `[${repeat(`${item},`, room - item.length - 2)}${item}]`
const names = (room: number): string => {
  const members: string[] = []
  for (let at = 0, length = 0; length < room - 20; at += 1) {
    const member = `"${at.toString(36)}k":1`
    members.push(member)
    length += member.length + 1
  }
  return `{${members.join()}}`
}
const quoted = (text: string): string => `"${text}"`

const fillers: Readonly<Record<string, Filler>> = {
  'a long text': (room) => quoted(repeat('x', room - 2)),
  'a text of control characters': (room) => quoted(repeat('\\u0001', room - 2)),
  'a text of halves of characters': (room) => quoted(repeat('\\ud83d', room - 2)),
  'a long decimal': (room) => quoted(repeat('9', room - 2)),
  'long hex': (room) => quoted(`0x${repeat('ab', room - 4)}`),
  'a long number': (room) => repeat('9', room),
  'a list of empty objects': (room) => list('{}', room),
  'a list of empty texts': (room) => list('""', room),
  'a list of numbers': (room) => list('1', room),
  'a list of lists of texts': (room) => list(list('""', room / 100), room),
  'lists in lists': (room) => `${repeat('[', room / 2)}${repeat(']', room / 2)}`,
  'objects in objects': (room) => `${repeat('{"a":', ((room - 1) * 5) / 6)}1${repeat('}', (room - 1) / 6)}`,
  'many names': names,
  'a long name': (room) => `{"${repeat('n', room - 8)}":1}`,
  'a long name of control characters': (room) => `{"${repeat('\\u0001', room - 8)}":1}`,
  'a prototype': (room) => `{"__proto__":${list('{}', room - 20)}}`,
  'names of a prototype': (room) => `{"constructor":{"prototype":${names(room - 40)}}}`,
}

const MARK = '@@@'

/** Every place in a value, each as the value with the mark at that place. */
const marked = (value: unknown): { readonly place: string; readonly value: unknown }[] => {
  const inside = (parts: readonly (readonly [string, unknown])[], rebuild: (name: string, part: unknown) => unknown) =>
    parts.flatMap(([name, part]) =>
      marked(part).map((it) => ({ place: `${name}.${it.place}`, value: rebuild(name, it.value) })),
    )
  const here = { place: '', value: MARK }
  if (Array.isArray(value)) return [here, ...inside([['0', value[0]]], (_, part) => [part])]
  if (typeof value !== 'object' || value === null) return [here]
  return [here, ...inside(Object.entries(value), (name, part) => ({ ...value, [name]: part }))]
}

const fill = (value: unknown, filler: Filler, limit: number): string => {
  const text = JSON.stringify(value)
  return text.replace(quoted(MARK), () => filler(limit - text.length))
}

/**
 * The longest lists that a body may hold: 100 of the first item, with lists in it that are as long as the body allows.
 */
const crowded = (value: unknown, item: string, limit: number): string => {
  const spread = (part: unknown): unknown => {
    if (Array.isArray(part)) {
      const isLeaf = typeof part[0] !== 'object'
      return isLeaf ? MARK : Array.from({ length: 100 }, () => spread(part[0]))
    }
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([name, it]) => [name, spread(it)]))
  }
  const text = JSON.stringify(spread(value))
  const parts = text.split(quoted(MARK))
  const room = Math.floor((limit - text.length) / Math.max(1, parts.length - 1))
  const length = Math.min(500, Math.floor(room / (item.length + 1)))
  return parts.join(`[${Array(Math.max(0, length)).fill(item).join()}]`)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** An unsigned transaction of chain 1 whose access list or data is as long as a body of so many bytes allows. */
const transactions: Readonly<Record<string, (bytes: number) => Hex>> = {
  'a long access list': (bytes) => {
    const keys = Array<Hex>(Math.floor(bytes / 33 - 10)).fill(`0x${'5f'.repeat(32)}`)
    return concatHex([
      '0x02',
      toRlp(['0x01', '0x', '0x', '0x', '0x', '0x', '0x', '0x', [[`0x${'11'.repeat(20)}`, keys]]]),
    ])
  },
  'an access list of empty lists': (bytes) =>
    concatHex(['0x02', toRlp(['0x01', '0x', '0x', '0x', '0x', '0x', '0x', '0x', Array(bytes - 100).fill([])])]),
  'a long authorization list': (bytes) => {
    const item: Hex[] = ['0x01', `0x${'11'.repeat(20)}`, '0x', '0x', '0x', '0x']
    const many = Array(Math.floor(bytes / 28 - 10)).fill(item)
    return concatHex(['0x04', toRlp(['0x01', '0x', '0x', '0x', '0x', '0x', '0x', '0x', [], many])])
  },
  'long data': (bytes) =>
    toRlp(['0x', '0x', '0x', '0x', '0x', `0x${'ab'.repeat(bytes - 100)}`, '0x25', '0x01', '0x01']),
  'lists in lists': (bytes) => `0x02${'c1'.repeat(bytes - 100)}c0`,
}

/**
 * Bodies that cost a careless server much time or a long answer, each as long as the body limit of its route. Each
 * field of the example, each list and the body itself is replaced by very long texts, numbers, lists and objects, and
 * lists are filled.
 */
export const hostileBodies = ({ route, limit, example }: Target): HostileBody[] => {
  const replaced = marked(example).flatMap(({ place, value }) =>
    Object.entries(fillers).map(([name, filler]) => ({
      name: `${place === '' ? 'body' : place.slice(0, -1)}: ${name}`,
      route,
      body: () => fill(value, filler, limit),
    })),
  )
  const more = Object.entries(fillers).map(([name, filler]) => ({
    name: `an unknown field: ${name}`,
    route,
    body: () => fill({ ...(isObject(example) && example), unknown: MARK }, filler, limit),
  }))
  const full = ['""', '1', '{}', '"0x01020304"', `"0x${'11'.repeat(20)}"`].map((item) => ({
    name: `lists full of ${item}`,
    route,
    body: () => crowded(example, item, limit),
  }))
  const signed = Object.entries(transactions).map(([name, transaction]) => ({
    name: `signedTx: ${name}`,
    route,
    body: () => JSON.stringify({ ...(isObject(example) && example), signedTx: transaction(limit / 2 - 50) }),
  }))
  const takesTransactions = isObject(example) && 'signedTx' in example
  return [...replaced, ...more, ...full, ...(takesTransactions ? signed : [])]
}
