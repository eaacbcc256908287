import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parseChangelog } from '../../src/api/routes/pages/changelog.ts'
import { webhookTypes } from '../../src/db/schema/webhooks.ts'

/** The files below a folder whose names end in `suffix`. */
const filesIn = (folder: string, suffix: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(suffix))
    .map((file) => join(folder, file))

const pages = ['README.md', 'CONTRIBUTING.md', ...filesIn('docs', '.md')]

const read = (path: string): string => readFileSync(path, 'utf8')

/** A page without its code blocks. */
const proseOf = (page: string): string => read(page).replace(/^ *```[\s\S]*?^ *```/gm, '')

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test('every relative link of the documentation leads to a file, and to a heading of it where the link names one', () => {
  const broken = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)]+)\)/g)].flatMap(([, link = '']) => {
      if (/^https?:/.test(link)) return []
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      const isFound = existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
      return isFound ? [] : [`${page}: ${link}`]
    }),
  )
  expect(broken).toEqual([])
})

test('the files of the packed client link to files of the package only', () => {
  const { files } = JSON.parse(read('client/package.json')) as { readonly files: readonly string[] }
  const shipped = [
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    ...files.flatMap((file) => (/\.md$/.test(file) ? [file] : [])),
  ]
  const isPacked = (path: string): boolean =>
    ['package.json', ...shipped].includes(path) || files.some((file) => path === file || path.startsWith(`${file}/`))
  const linked = shipped
    .filter((file) => existsSync(join('client', file)))
    .flatMap((file) =>
      [...read(join('client', file)).matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => join(dirname(file), link)),
    )
  expect(linked.filter((link) => !/^https?:/.test(link) && !isPacked(link))).toEqual([])
})

test('docs/README.md lists every page of docs in the reading order', () => {
  const listed = [...read('docs/README.md').matchAll(/\]\(([\w./-]+\.md)\)/g)].map(([, path = '']) =>
    join('docs', path),
  )
  const expected = pages.filter((page) => !/^docs\/(decisions\/\d|README)/.test(page))
  expect(listed).toEqual(expect.arrayContaining(expected))
})

test('the changelog has dated releases, and the newest one is that of both packages and of the last description', () => {
  const [newest, ...older] = parseChangelog(read('CHANGELOG.md')).filter(({ version }) => version !== 'Unreleased')
  for (const { version, date } of [newest, ...older].filter((it) => it !== undefined)) {
    expect([version, date]).toEqual([
      expect.stringMatching(/^\d+\.\d+\.\d+$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    ])
  }
  const versionOf = (file: string): unknown => JSON.parse(read(file)).version
  expect([versionOf('package.json'), versionOf('client/package.json')]).toEqual([newest?.version, newest?.version])
  expect(JSON.parse(read('docs/releases/openapi.json')).info['x-release']).toBe(newest?.version)
})

test('every log message that the pages for operators quote is written by the code', () => {
  const source = filesIn('src', '.ts').map(read)
  const quoted = ['docs/runbook.md', ...filesIn('docs/operations', '.md')].flatMap((page) =>
    [...proseOf(page).matchAll(/`"([^"`]+)"`/g)].map(([, message = '']) => message),
  )
  expect(quoted.length).toBeGreaterThan(10)
  expect(quoted.filter((message) => !source.some((text) => text.includes(message)))).toEqual([])
})

test('the guide has a row for each type of webhook, and the client a type', () => {
  const rows = [...read('docs/guide/webhooks.md').matchAll(/^\| `(\w+\.\w+)`/gm)].map(([, type]) => type)
  expect(rows).toEqual([...webhookTypes, 'changes.reset', 'webhook.ping'])
  const [, union = ''] = read('client/src/webhooks.ts').split('export type WebhookMessage =')
  const [own = ''] = union.split('\n\n')
  expect([...own.matchAll(/'(\w+\.\w+)'/g)].map(([, type]) => type)).toEqual(rows)
})
