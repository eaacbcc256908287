import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { errorText, OperatorError } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import { chains, type Environment, privateNames } from './environments.ts'

/**
 * A mistake in the environment; the message lists every faulty variable, so that one start is enough to fix them all.
 */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError'
}

type Fault = readonly [name: string, message: string]

/** Variables of earlier releases, by those that replaced them. */
const replaced: Readonly<Record<string, string>> = { IDLE_POLL_MS: 'POLL_MS' }

/** The value in a variable's file, or the fault. A fault never repeats the file's content. */
const readPrivate = (name: string, env: NodeJS.ProcessEnv): { value?: string; fault?: Fault } => {
  const [variable, path] = [`${name}_FILE`, env[`${name}_FILE`]]
  if (path === undefined) return {}
  if (env[name] !== undefined) return { fault: [name, `is given twice, itself and by ${variable}: unset one of them`] }
  try {
    const value = readFileSync(path, 'utf8').trim()
    return value === '' ? { fault: [variable, 'names an empty file: write the value into it'] } : { value }
  } catch (fault) {
    const remedy = 'name a file that this process may read'
    return { fault: [variable, `cannot be read (${errorText(fault)}): ${remedy}`] }
  }
}

/** The values of a command's own variables by their names, and those of each chain, in the order of `CHAINS`. */
export type Config<Own extends z.ZodObject, OfChain extends z.ZodObject> = Readonly<z.output<Own>> & {
  readonly chains: readonly (Readonly<z.output<OfChain>> & { readonly chainId: ChainId })[]
}

export type ConfigOf<E extends Environment> =
  E extends Environment<infer Own, infer OfChain> ? Config<Own, OfChain> : never

/**
 * The environment of one command, checked and frozen. An empty variable counts as unset. Throws a ConfigError that
 * lists all faults.
 *
 * @example const { DATABASE_URL } = load(environments.migrate)
 */
export const load = <Own extends z.ZodObject, OfChain extends z.ZodObject>(
  { own, ofChain }: Environment<Own, OfChain>,
  env: NodeJS.ProcessEnv = process.env,
): Config<Own, OfChain> => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  // A fault in CHAINS itself is found with the other variables of the command.
  const { data: chainIds = [] } = chains.CHAINS.safeParse(given.CHAINS)
  const mayBeFiles = new Set(privateNames(chainIds))
  const faults: Fault[] = []

  /** The values of some variables, whose names end in `suffix`; undefined when one of them is at fault. */
  const parse = <S extends z.ZodObject>(schema: S, suffix: string): z.output<S> | undefined => {
    const values: Record<string, string | undefined> = {}
    const unread = new Set<PropertyKey | undefined>()
    for (const variable of Object.keys(schema.shape)) {
      const name = `${variable}${suffix}`
      const { value = given[name], fault } = mayBeFiles.has(name) ? readPrivate(name, given) : {}
      values[variable] = value
      if (fault === undefined) continue
      faults.push(fault)
      unread.add(variable)
    }
    const { data, error } = schema.safeParse(values)
    for (const { path, message } of error?.issues ?? []) {
      const [variable, ...rest] = path
      if (!unread.has(variable)) faults.push([[`${String(variable)}${suffix}`, ...rest].join('.'), message])
    }
    return data
  }

  const values = parse(own, '')
  for (const [name, former] of Object.entries(replaced))
    if (name in own.shape && given[former] !== undefined)
      faults.push([former, `has no effect any more: unset it, and see ${name}`])
  const ofChains = chainIds.flatMap((chainId, place) => {
    const found = ofChain && parse(ofChain(chainId, place), `_${chainId}`)
    return found === undefined ? [] : [{ ...found, chainId }]
  })
  if (values !== undefined && faults.length === 0) return Object.freeze({ ...values, chains: ofChains })
  const lines = faults.map(([name, message]) => `  ${name}: ${message}`)
  throw new ConfigError(`the environment is not complete:\n${lines.join('\n')}\nSee .env.example for what each means.`)
}

/**
 * The environment for child processes. It omits the `_FILE` variables, so that they cannot contradict values that a
 * child is given.
 */
export const inherited = (chainIds: readonly ChainId[]): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(privateNames(chainIds).map((name) => [`${name}_FILE`, ''])),
})
