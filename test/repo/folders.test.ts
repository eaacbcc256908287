import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** The most files of a folder, without those of its subfolders. */
const MOST = 16

/** A folder and all folders below it. */
const foldersOf = (folder: string): string[] => [
  folder,
  ...readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => foldersOf(join(folder, name))),
]

const filesOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).length

test('no folder of src has more than 16 files of its own', () => {
  const folders = foldersOf('src').map((folder) => ({ folder, files: filesOf(folder) }))
  expect(folders.length).toBeGreaterThan(1)
  expect(folders.filter(({ files }) => files > MOST)).toEqual([])
})
