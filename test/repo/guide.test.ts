import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Block, blocksOf, differences, guidePages, pagesWithCode, statedOutput, textOf } from '../support/guide.ts'

const pages = [
  'assistants',
  'buying-and-claiming',
  'changes',
  'csv',
  'errors',
  'event-source',
  'history',
  'limits',
  'money',
  'pagination',
  'quick-start',
  'registering-webhooks',
  'settlements',
  'wallets',
  'webhooks',
]

const { version } = JSON.parse(readFileSync('client/package.json', 'utf8'))

/** The commands of `sh` blocks, which the tests do not run. */
const commands = [
  'npm ci && npm start',
  'npm pack --workspace client',
  `npm install fx-protection-client-${version}.tgz viem tsx`,
]

/** Why a block cannot be run or compared; undefined when it can. */
const faultOf = ({ kind, argument, text }: Block, before: Block | undefined): string | undefined => {
  if (kind === 'ts') return argument === '' ? undefined : 'a ts block has no argument'
  if (kind === 'json') return before?.kind === 'http' ? JSON.parse(text) && undefined : 'no request before a response'
  if (kind === 'http') {
    if (!/^(\d{3})?$/.test(argument)) return `not a status: ${argument}`
    return /^(GET|POST) \/\S*\n(\n\{[\s\S]*\}\n)?$/.test(text) ? undefined : 'not a request line, and a body'
  }
  // `test/api/event-source.service.test.ts` runs it in a browser.
  if (kind === 'js') return undefined
  if (kind !== 'sh') return `unknown kind: ${kind}`
  return text
    .trimEnd()
    .split('\n')
    .find((line) => !commands.includes(line))
}

test('the guide has its pages and no others, each with a title and at most 175 lines', () => {
  expect(guidePages).toEqual(pages.map((page) => `docs/guide/${page}.md`))
  for (const page of guidePages) {
    expect(textOf(page)).toMatch(/^# \w.*\n\n/)
    expect([page, textOf(page).split('\n').length <= 175]).toEqual([page, true])
  }
})

test('every block of the guide is code that a test runs, a request, its response, or a command of the installation', () => {
  const faults = pagesWithCode.flatMap((page) => {
    const blocks = blocksOf(page)
    expect([page, blocks.length]).toEqual([page, (textOf(page).match(/^ *(```|~~~)/gm)?.length ?? 0) / 2])
    return blocks.flatMap((block, at) => {
      const fault = faultOf(block, blocks[at - 1])
      return fault === undefined ? [] : [`${page}:${block.line}: ${fault}`]
    })
  })
  expect(faults).toEqual([])
})

test('every text that code of the guide states to print belongs to a statement that a test compares', () => {
  for (const page of pagesWithCode) {
    const marks = blocksOf(page).flatMap(({ text }) => text.match(/\/\/ =>/g) ?? [])
    expect([page, statedOutput(page).length]).toEqual([page, marks.length])
  }
  expect(pagesWithCode.flatMap(statedOutput).length).toBeGreaterThan(30)
})

test('pages of the guide link to pages of the guide only, because the API serves no others', () => {
  const links = guidePages.flatMap((page) => [...textOf(page).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link))
  expect(links.length).toBeGreaterThan(10)
  expect(links.filter((link) => !pages.includes(link.replace(/\.md(#[\w-]+)?$/, '')))).toEqual([])
})

test('a response with other keys or types than the guide shows is a difference, and a longer list is none', () => {
  expect(differences({ a: [{ b: '1' }] }, { a: [{ b: 1 }, { b: '2' }] })).toEqual([])
  expect(differences({ a: 1, b: null }, { a: '1', b: null, c: 2 })).toEqual([
    '.a: shown as number, is string',
    '.c: shown as undefined, is number',
  ])
  expect(differences([{ a: 1 }], [])).toEqual([': shown with items, is empty'])
  expect(differences([{ a: 1 }], [{ a: true }])).toEqual(['[0].a: shown as number, is boolean'])
})
