import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'

type Instruction = { readonly name: string; readonly rest: string }

const parse = (dockerfile: string): Instruction[] =>
  dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ name: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }))

/** The files that `.dockerignore` includes: it excludes all files, then includes some again. */
const sent = (): readonly string[] => {
  const [first, ...rest] = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (first !== '*' || !rest.every((line) => line.startsWith('!'))) throw new Error('.dockerignore is no allow list')
  return rest.map((line) => line.slice(1))
}

const Words = z.array(z.string())
const words = (rest: string): string[] => Words.parse(JSON.parse(rest))

export type Image = {
  /** The `WORKDIR` of the image. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly healthCheck: readonly string[]
  readonly instructions: readonly Instruction[]
  readonly remove: () => void
}

/**
 * Builds the image of the Dockerfile without Docker: a folder for each stage, with the files that its lines copy and
 * create. Instead of `npm ci` it uses the packages of this checkout. Debian's packages are not installed: processes start
 * without `tini`, as children of the test.
 */
export const buildImage = (): Image => {
  const context = sent()
  const root = mkdtempSync(join(tmpdir(), 'fx-image-'))
  const image = {
    folder: '',
    environment: {} as Record<string, string>,
    entrypoint: [] as string[],
    healthCheck: [] as string[],
    instructions: parse(readFileSync('Dockerfile', 'utf8')),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
  const stages = new Map<string, string>()
  let stage = root
  const inStage = (path: string): string => resolve(image.folder, path)

  const copy = (rest: string): void => {
    const [, from, list = rest] = /^--from=(\S+) (.+)$/.exec(rest) ?? []
    const paths = list.split(' ')
    const target = inStage(paths.pop() ?? '')
    for (const path of paths) {
      if (from === undefined && !context.some((allowed) => path === allowed || path.startsWith(`${allowed}/`))) {
        throw new Error(`${path} is not sent to the build: see .dockerignore`)
      }
      const source = from === undefined ? path : join(stages.get(from) ?? '', path)
      const isInto = paths.length > 1 || list.endsWith('/')
      cpSync(source, isInto ? join(target, basename(path)) : target, { recursive: true })
    }
  }
  const run = (rest: string): void => {
    if (rest.startsWith('apt-get')) return
    if (rest.startsWith('npm ci')) symlinkSync(resolve('node_modules'), inStage('node_modules'))
    else execFileSync('sh', ['-c', rest], { cwd: image.folder, stdio: 'pipe' })
  }
  const does: Readonly<Record<string, (rest: string) => void>> = {
    FROM(rest) {
      const name = / AS (\S+)$/.exec(rest)?.[1] ?? 'last'
      stage = join(root, name)
      stages.set(name, stage)
    },
    WORKDIR(rest) {
      image.folder = join(stage, rest)
      mkdirSync(image.folder, { recursive: true })
    },
    COPY: copy,
    RUN: run,
    ENV(rest) {
      const at = rest.indexOf('=')
      image.environment[rest.slice(0, at)] = rest.slice(at + 1).replace(/^"(.*)"$/, '$1')
    },
    ENTRYPOINT(rest) {
      const [init, end, ...command] = words(rest)
      if (init !== 'tini' || end !== '--') throw new Error('the image has no init')
      image.entrypoint = command
    },
    HEALTHCHECK(rest) {
      image.healthCheck = words(rest.slice(rest.indexOf('CMD') + 4))
    },
  }
  try {
    for (const { name, rest } of image.instructions) does[name]?.(rest)
    return image
  } catch (fault) {
    image.remove()
    throw fault
  }
}

/** A copy of an image, as a later release is; `change` makes it one. */
export const releaseOf = (image: Image, change: (folder: string) => void): Image => {
  const root = mkdtempSync(join(tmpdir(), 'fx-release-'))
  const folder = join(root, 'app')
  cpSync(image.folder, folder, { recursive: true })
  change(folder)
  return { ...image, folder, remove: () => rmSync(root, { recursive: true, force: true }) }
}
