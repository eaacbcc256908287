import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { errorText, OperatorError } from '../lib/errors.ts'
import { privateNames } from './environments.ts'

/** A mistake in the environment; the message lists every faulty variable, so that one start is enough to mend them all. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError'
}

type Fault = readonly [name: string, message: string]

/** The value that a variable's file holds, or what is wrong with it: never a word of what is in it. */
const readPrivate = (name: string, env: NodeJS.ProcessEnv): { value?: string; fault?: Fault } => {
  const [variable, path] = [`${name}_FILE`, env[`${name}_FILE`]]
  if (path === undefined) return {}
  if (env[name] !== undefined) return { fault: [name, `is given twice, itself and by ${variable}: unset one of them`] }
  try {
    const value = readFileSync(path, 'utf8').trim()
    return value === '' ? { fault: [variable, 'names an empty file: write the value into it'] } : { value }
  } catch (fault) {
    const mend = 'name a file that this process may read'
    return { fault: [variable, `cannot be read (${errorText(fault)}): ${mend}`] }
  }
}

/**
 * The environment of one command, checked and frozen. An empty variable counts as unset. Throws a ConfigError that names every
 * fault at once.
 *
 * @example const { DATABASE_URL } = load(environments.migrate)
 */
export const load = <S extends z.ZodObject>(
  environment: S,
  env: NodeJS.ProcessEnv = process.env,
): Readonly<z.output<S>> => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const faults: Fault[] = []
  const unread = new Set<PropertyKey | undefined>()
  for (const name of privateNames.filter((each) => each in environment.shape)) {
    const { value, fault } = readPrivate(name, given)
    if (value !== undefined) given[name] = value
    if (fault === undefined) continue
    faults.push(fault)
    unread.add(name)
  }
  const parsed = environment.safeParse(given)
  if (parsed.success && faults.length === 0) return Object.freeze(parsed.data)
  for (const { path, message } of parsed.error?.issues ?? []) {
    if (!unread.has(path[0])) faults.push([path.join('.'), message])
  }
  const lines = faults.map(([name, message]) => `  ${name}: ${message}`)
  throw new ConfigError(`the environment is not complete:\n${lines.join('\n')}\nSee .env.example for what each means.`)
}

/** What processes started by this one inherit. Where a value is given to them, the file of another must not contradict it. */
export const inherited = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(privateNames.map((name) => [`${name}_FILE`, ''])),
})
