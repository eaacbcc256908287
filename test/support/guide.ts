import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

/*
 * The code of the guide. All ```ts blocks of a page are one module, whose lines have the numbers that they have in the
 * page, so that errors name the place to repair.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** The base URL that the pages show. */
const SHOWN_URL = 'http://127.0.0.1:3000'

/** `argument` is what follows the kind: the status of an `http` block. `line` is the number of the first line. */
export type Block = {
  readonly kind: string
  readonly argument: string
  readonly line: number
  readonly text: string
}

export const guidePages: readonly string[] = readdirSync(join(root, 'docs/guide'))
  .sort()
  .map((name) => `docs/guide/${name}`)

/** The pages whose code runs. */
export const pagesWithCode = [...guidePages, 'client/README.md']

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

export const blocksOf = (page: string): Block[] =>
  [...textOf(page).matchAll(/^```(\w*) ?(.*)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: kind = '', 2: argument = '', 3: text = '', index, input }) => ({
      ...{ kind, argument, text },
      line: input.slice(0, index).split('\n').length + 1,
    }),
  )

const withUrl = (text: string, baseUrl: string): string => text.replaceAll(SHOWN_URL, baseUrl)

/** The module of a page. */
const moduleOf = (page: string): string => {
  const lines: string[] = []
  for (const { kind, line, text } of blocksOf(page)) {
    if (kind === 'ts') lines.push(...Array<string>(line - 1 - lines.length).fill(''), ...text.trimEnd().split('\n'))
  }
  return `${lines.join('\n')}\n`
}

/** A statement that prints one line, and the line. */
const STATEMENT = /^(\s*)console\.log\((.*)\) \/\/ => (.*)$/

/** What a page states to print: the line number and the text of each statement, in their order. */
export const statedOutput = (page: string): string[] =>
  moduleOf(page)
    .split('\n')
    .flatMap((line, at) => (STATEMENT.test(line) ? [`=> ${at + 1} ${line.replace(STATEMENT, '$3')}`] : []))

/** The module with the line number before each text that it states to print. */
const numbered = (module: string): string =>
  module
    .split('\n')
    .map((line, at) => line.replace(STATEMENT, `$1console.log('=>', ${at + 1}, $2)`))
    .join('\n')

export type Guide = {
  /** Compiles all modules. Rejects with the errors of the compiler. */
  check(): Promise<void>
  /** Runs the module of a page. Resolves with the lines that begin with `=>`. */
  run(page: string): Promise<string[]>
  close(): Promise<void>
}

/** Writes the modules of all pages to a folder of `node_modules`, where their imports resolve. */
export const openGuide = async (baseUrl: string): Promise<Guide> => {
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'guide-'))
  const nameOf = (page: string): string => `${basename(page, '.md')}.mts`
  for (const page of pagesWithCode) await writeFile(join(folder, nameOf(page)), withUrl(moduleOf(page), baseUrl))
  const files = pagesWithCode.map(nameOf)
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), include: [], files }),
  )
  return {
    async check() {
      const compiler = join(root, 'node_modules/typescript-7/bin/tsc')
      await run(process.execPath, [compiler, '--noEmit', '--singleThreaded', '-p', folder]).catch(({ stdout }) => {
        throw new Error(stdout)
      })
    },
    async run(page) {
      const outfile = join(folder, `${basename(page, '.md')}.mjs`)
      const contents = numbered(withUrl(moduleOf(page), baseUrl))
      await build({
        ...{ stdin: { contents, loader: 'ts', resolveDir: folder, sourcefile: page }, outfile, bundle: true },
        ...{ platform: 'node', format: 'esm', packages: 'external', sourcemap: 'inline' },
        alias: { 'fx-protection-client': join(root, 'client/src/index.ts') },
      })
      const { stdout } = await run(process.execPath, ['--enable-source-maps', outfile], { timeout: 120_000 })
      return stdout.split('\n').filter((line) => line.startsWith('=> '))
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Sends an `http` block: a request line, and after a blank line a JSON body. */
export const sendRequest = async (baseUrl: string, { text }: Block): Promise<Response> => {
  const [head = '', ...rest] = text.trimEnd().split('\n\n')
  const [, method = '', path = ''] = /^(GET|POST) (\/\S*)$/.exec(head) ?? []
  const body = rest.join('\n\n')
  return fetch(`${baseUrl}${path}`, {
    ...{ method },
    ...(body !== '' && { headers: { 'content-type': 'application/json' }, body }),
  })
}

/**
 * Where an actual value has another shape than the one that a page shows: other keys or types. Each item of a list
 * that is shown needs an actual item of its shape, because lists may be shortened.
 */
export const differences = (shown: unknown, actual: unknown, path = ''): string[] => {
  const [expected, found] = [typeOf(shown), typeOf(actual)]
  if (expected !== found) return [`${path}: shown as ${expected}, is ${found}`]
  if (Array.isArray(shown) && Array.isArray(actual)) {
    return shown.flatMap((item, at) => {
      const all = actual.map((other) => differences(item, other, `${path}[${at}]`))
      return all.some(({ length }) => length === 0) ? [] : (all[0] ?? [`${path}: shown with items, is empty`])
    })
  }
  if (expected !== 'object') return []
  const [a, b] = [Object(shown), Object(actual)]
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
    differences(a[key], b[key], `${path}.${key}`),
  )
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
