import { readFile } from 'node:fs/promises'
import { packaged } from '../../../lib/root.ts'

type Page = { readonly name: string; readonly title: string; readonly summary: string; readonly covers?: RegExp }

/**
 * The pages of the guide in their order: `docs/guide/<name>.md`. `covers` matches the paths of the operations that a page
 * explains.
 */
export const guidePages: readonly Page[] = [
  { name: 'quick-start', title: 'Quick start', summary: 'From an empty folder to a bought position and a claim' },
  {
    name: 'money',
    title: 'Money',
    summary: 'Units, scales and decimals, and the formula of every amount with an example',
    covers: /^\/v1\/(?:pricing\/|hedge\/(?:fees|quote-payout)\b)/,
  },
  {
    name: 'buying-and-claiming',
    title: 'Buying and claiming',
    summary: 'Plans and builders: check, sign, send and follow a transaction',
    covers: /^\/v1\/(?:plans|tx\/(?:erc20|hedge|broadcast)|transactions|wallets)\b(?!.*\/series$)/,
  },
  { name: 'wallets', title: 'Wallets', summary: 'Batches, wallets that give no hash, and executions that buy once' },
  {
    name: 'settlements',
    title: 'Settlements',
    summary: 'Follow settlements and their reversals as a stream or in pages, without loss',
    covers: /\/settlements\b/,
  },
  { name: 'event-source', title: 'Streams in a page', summary: '`EventSource` in a browser, also after a refusal' },
  {
    name: 'changes',
    title: 'Changes',
    summary: 'Keep a copy of wallets and events exact with the feed of changes',
    covers: /^\/v1\/changes\b/,
  },
  { name: 'webhooks', title: 'Webhooks', summary: 'Be called for settlements and changes, and verify the messages' },
  {
    name: 'registering-webhooks',
    title: 'Register webhooks',
    summary: 'Manage your webhooks by yourself, with a key of the operator',
    covers: /^\/v1\/webhooks\b/,
  },
  {
    name: 'errors',
    title: 'Errors',
    summary: 'Codes, retries, the reasons of reverts, and the issues of plans',
    covers: /^\/v1\/reverts$/,
  },
  {
    name: 'pagination',
    title: 'Pagination and consistency',
    summary: 'Lists, filters, reorgs, reads after your own transaction, and entity tags',
    covers: /^\/v1\/hedge\/(?:events|positions|deposits|creators)\b(?!.*\/series$)/,
  },
  {
    name: 'history',
    title: 'History',
    summary: 'The state at a past moment, figures over time, and who did what when',
    covers: /^\/v1\/activity$|\/series$/,
  },
  { name: 'csv', title: 'CSV', summary: 'Whole lists and activity for spreadsheets, with amounts in tokens' },
  {
    name: 'assistants',
    title: 'Assistants',
    summary: '`/mcp`: the operations of the API as tools of language models, and this guide',
  },
  { name: 'limits', title: 'Limits', summary: 'Sizes, rates and times, and what is returned above each' },
]

/** Further pages: `docs/<name>.md`. */
const others: readonly Page[] = [
  { name: 'glossary', title: 'Glossary', summary: 'The terms of the protocol, of the service and of prices' },
  {
    name: 'pricing',
    title: 'Prices',
    summary: 'How a premium is computed, how to read a quote, and when it is signed',
  },
  {
    name: 'study/README',
    title: 'What the prices would have paid',
    summary: 'Premiums of the last decades next to what the same ranges paid, and the limits of that',
  },
]

/** What these pages show or link to, in `docs`, with its type. */
export const attachments: Readonly<Record<string, string>> = {
  'images/payoff-usd-ghs.svg': 'image/svg+xml',
  'study/ratio.svg': 'image/svg+xml',
  'study/probability.svg': 'image/svg+xml',
  'study/years.svg': 'image/svg+xml',
  'study/tiers.json': 'application/json',
  'study/pairs.json': 'application/json',
}

/** A page of the documentation: `docs/<path>.md`, served at `/v1/docs/<path>`. */
export type GuidePage = Page & { readonly path: string; readonly markdown: string }

/** The page of the guide that explains the operation of a path; undefined when none does. */
export const guidePageOf = (path: string): Page | undefined => guidePages.find(({ covers }) => covers?.test(path))

const read = async (page: Page, path: string): Promise<GuidePage> => {
  const markdown = await readFile(packaged(`docs/${path}.md`), 'utf8')
  if (!markdown.startsWith(`# ${page.title}\n`))
    throw new TypeError(`docs/${path}.md does not begin with the title ${page.title}`)
  return { ...page, path, markdown }
}

/** Reads the guide, the glossary and the pages about prices. Throws when one is missing or does not begin with its title. */
export const readGuide = (): Promise<readonly GuidePage[]> =>
  Promise.all([
    ...guidePages.map((page) => read(page, `guide/${page.name}`)),
    ...others.map((page) => read(page, page.name)),
  ])
