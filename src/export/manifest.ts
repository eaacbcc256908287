import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Address } from 'viem'
import { z } from 'zod'
import { OperatorError } from '../lib/errors.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import { Integer } from '../protocol/fields/response-fields.ts'
import { createFile, ifThere, onDisk } from './disk.ts'
import { type TableName, tableNames } from './tables.ts'

/*
 * The manifest of a chain lists the files that are complete. A file is listed after it has its final name, so a run that
 * was ended at any point continues with the first file that is not listed.
 */

const Entry = z.object({
  /** In the folder of the export. */
  path: z.string(),
  table: z.enum(tableNames),
  /** In UTC. */
  day: z.iso.date(),
  rows: Integer,
  bytes: Integer,
  sha256: z.string(),
  /** The first and the last block with a row; null without one. */
  firstBlock: Integer.nullable(),
  lastBlock: Integer.nullable(),
  /** Of the columns and of how they are written (`fingerprintOf`). */
  format: z.string(),
})

export type Entry = z.output<typeof Entry>

const Manifest = z.object({ chainId: z.int(), diamond: z.string(), files: z.array(Entry) })

/** The entries of a chain, by the paths of their files. */
export type Manifest = { readonly chainId: ChainId; readonly diamond: Address; readonly files: Map<string, Entry> }

const nameOf = (chainId: ChainId): string => `manifest-${chainId}.json`

/** The path of a file in the folder of an export. Engines read the names of its folders as columns. */
export const pathOf = (table: TableName, chainId: ChainId, day: string): string =>
  join(table, `chain=${chainId}`, `day=${day}`, 'data.parquet')

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the manifest of a deployment. Throws an OperatorError for one of another deployment, and for an unknown text. */
export const readManifest = async (folder: string, { chainId, diamond }: Deployment): Promise<Manifest> => {
  const text = await onDisk(() => ifThere(readFile(join(folder, nameOf(chainId)), 'utf8')))
  if (text === null) return { chainId, diamond, files: new Map() }
  const { success, data } = Manifest.safeParse(parsed(text))
  if (!success)
    throw new OperatorError(
      `${nameOf(chainId)} in the folder of --out is no manifest of this release: delete it, and run the export again, which writes all files`,
    )
  if (data.chainId !== chainId || data.diamond !== diamond)
    throw new OperatorError(
      `the folder of --out has files of the diamond ${data.diamond} of chain ${data.chainId}, and not of ${diamond}: name another folder`,
    )
  return { chainId, diamond, files: new Map(data.files.map((entry) => [entry.path, entry])) }
}

const inOrder = (a: Entry, b: Entry): number =>
  a.day === b.day ? tableNames.indexOf(a.table) - tableNames.indexOf(b.table) : a.day < b.day ? -1 : 1

/** Replaces a file by another one, also if the machine stops. */
export const replaceFile = (from: string, to: string): Promise<void> =>
  onDisk(async () => {
    await rename(from, to)
    const folder = await open(dirname(to))
    await folder.sync().finally(() => folder.close())
  })

/** Writes the manifest. The entries are in the order of their days. */
export const writeManifest = async (folder: string, { chainId, diamond, files }: Manifest): Promise<void> => {
  const path = join(folder, nameOf(chainId))
  const text = JSON.stringify({ chainId, diamond, files: [...files.values()].sort(inOrder) }, null, 1)
  await onDisk(async () => {
    await mkdir(folder, { recursive: true })
    const file = await createFile(`${path}.tmp`)
    await file
      .writeFile(`${text}\n`)
      .then(() => file.sync())
      .finally(() => file.close())
  })
  await replaceFile(`${path}.tmp`, path)
}
