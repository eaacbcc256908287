import { readdirSync, readFileSync } from 'node:fs'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import { diamonds } from '../../src/sandbox/deploy.ts'
import { builders } from '../../src/tx/builders.ts'

const folder = new URL('../../contracts/', import.meta.url)
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sol') && !path.startsWith('mocks/'))
  .map((path) => readFileSync(new URL(path, folder), 'utf8').replace(/\/\/.*|\/\*[\s\S]*?\*\//g, ''))

/** The part of a source from a position to the bracket that closes its first block. */
const blockAt = (source: string, from: number): string => {
  let depth = 0
  for (let at = source.indexOf('{', from); at < source.length; at++) {
    if (source[at] === '{') depth++
    if (source[at] === '}' && --depth === 0) return source.slice(from, at + 1)
  }
  throw new Error(`a block is not closed: ${source.slice(from, from + 80)}`)
}

type Contract = { readonly bases: readonly string[]; readonly members: ReadonlyMap<string, string> }

/** The functions and modifiers of a contract by name, with their bodies. */
const membersOf = (source: string): Map<string, string> =>
  new Map(
    [...source.matchAll(/\b(?:(?:function|modifier) (\w+)|(fallback)\b)[^;{]*\{/g)].map((found) => [
      found[1] ?? found[2] ?? '',
      blockAt(source, found.index),
    ]),
  )

const contracts = new Map<string, Contract>(
  sources.flatMap((source) =>
    [...source.matchAll(/^(?:abstract )?(?:contract|library) (\w+)(?: is ([^{]*))?/gm)].map((found) => {
      const bases = (found[2] ?? '').split(',').map((base) => base.trim())
      return [found[1] ?? '', { bases, members: membersOf(blockAt(source, found.index)) }] as const
    }),
  ),
)

const texts = new Map(
  sources.flatMap((source) =>
    [...source.matchAll(/string internal constant (\w+) = "(.*)";/g)].map(([, name, text]) => [name, text] as const),
  ),
)

/** A member of a contract, or of the last of its bases that has it. */
const resolve = (contract: string, member: string): string | undefined => {
  const { bases, members } = contracts.get(contract) ?? { bases: [], members: new Map<string, string>() }
  return members.get(member) ?? bases.map((base) => resolve(base, member)).findLast((body) => body !== undefined)
}

/** The texts of a member and of everything that it calls, directly or not. */
const textsOf = (contract: string, member: string, seen: Set<string>): string[] => {
  const body = resolve(contract, member)
  if (body === undefined || seen.has(`${contract}.${member}`)) return []
  seen.add(`${contract}.${member}`)
  const own = [...body.matchAll(/\bReasons\.(\w+)/g)].map(([, name]) => texts.get(name) ?? `no constant ${name}`)
  const modifiers = body.slice(body.indexOf(')'), body.indexOf('{')).matchAll(/()(\w+)/g)
  const called = [...modifiers, ...body.matchAll(/(?:\b(\w+)\.)?\b(\w+)\(/g)].flatMap(([, library, name = '']) =>
    textsOf(library || contract, name, seen),
  )
  return [...own, ...called]
}

/**
 * The texts that a profile's contracts contain for each function with a builder, in pairs. `fallback` stands for a call
 * of a function that the profile does not have.
 */
export const textsByFunction = (profile: ProfileName): (readonly [name: string, text: string])[] => {
  const { diamond, facets } = diamonds[profile]
  const textsIn = (names: readonly string[], member: string) =>
    [...new Set(names.flatMap((name) => textsOf(name, member, new Set())))].map((text) => [member, text] as const)
  return [...builders.flatMap(({ function: name }) => textsIn(facets, name)), ...textsIn([diamond], 'fallback')]
}
