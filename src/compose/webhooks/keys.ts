import { randomBytes } from 'node:crypto'
import { environments } from '../../config/environments.ts'
import { load } from '../../config/load.ts'
import { addApiKey, readApiKeys, removeApiKey, replaceApiKey } from '../../db/api-keys.ts'
import type { Database } from '../../db/pool.ts'
import { hashApiKey, newApiKey } from '../../identity/api-keys.ts'
import { invalidField, OperatorError } from '../../lib/errors.ts'
import { type Flags, plainText, textOf } from '../flags.ts'
import { withDatabase } from '../operator.ts'
import { counted, print, printSecret } from './output.ts'

/** Most characters of the name of a key. */
const MAX_NAME = 100

const NOT_SHOWN_AGAIN = 'The key is not shown again: give it to the integrator, who sends it as x-api-key.'

const missing = (id: string): OperatorError => new OperatorError(`there is no key ${id}: run keys list for the ids`)

const idOf = (id: string | undefined): string => {
  if (id === undefined) throw invalidField('ID', 'name a key: run keys list for the ids')
  return plainText('ID', id)
}

const commands = {
  async add(database: Database, flags: Flags) {
    const name = textOf(flags, 'name')?.trim() ?? ''
    if (name === '' || name.length > MAX_NAME)
      throw invalidField('name', `expected a name of 1 to ${MAX_NAME} characters, such as the integrator's`)
    const id = `ak_${randomBytes(6).toString('hex')}`
    const key = newApiKey()
    // Shown before the commit, so that no key is stored that was never shown.
    await database.transaction(async (handle) => {
      await addApiKey(handle, { id, name, hash: hashApiKey(key), createdAt: new Date() })
      await printSecret(`id: ${id}`, `key: ${key}`, NOT_SHOWN_AGAIN)
    })
  },

  async list(database: Database) {
    const keys = await database.run(readApiKeys)
    const lines = keys.map(
      ({ id, name, createdAt, endpoints }) =>
        `${id}  ${name}  since ${createdAt.toISOString()}  ${counted(endpoints, 'endpoint')}`,
    )
    print(...(lines.length === 0 ? ['no key: add one with keys add'] : lines))
  },

  async rotate(database: Database, _: Flags, given: string | undefined) {
    const id = idOf(given)
    const key = newApiKey()
    await database.transaction(async (handle) => {
      if (!(await replaceApiKey(handle, id, hashApiKey(key)))) throw missing(id)
      await printSecret(`key: ${key}`, NOT_SHOWN_AGAIN, 'The key before it ended.')
    })
  },

  async remove(database: Database, _: Flags, given: string | undefined) {
    const id = idOf(given)
    if (!(await database.run((handle) => removeApiKey(handle, id)))) throw missing(id)
    print('removed, with its endpoints and their deliveries')
  },
} satisfies Record<string, (database: Database, flags: Flags, id: string | undefined) => Promise<void>>

/** Runs a command of the operator on the keys of integrators. */
export const runKeys = async (name: keyof typeof commands, flags: Flags, id?: string): Promise<void> => {
  const command: (database: Database, flags: Flags, id: string | undefined) => Promise<void> = commands[name]
  await withDatabase(load(environments.migrate), 'keys', (database) => command(database, flags, id))
}
