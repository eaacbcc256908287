import { escapeMarkup } from '../../../lib/http/markup.ts'
import { anchorOf, type Heading } from '../markdown.ts'
import type { GuidePage } from './guide.ts'
import { type Operation, tagsOf } from './operation.ts'

/** A page of the documentation. `url` is relative to the root of the service. */
type Entry = { readonly url: string; readonly title: string; readonly method?: string }

/** The list of all operations. */
const REFERENCE = 'v1/docs'

type Group = { readonly title: string; readonly entries: readonly Entry[] }

/** All pages of the documentation in their order: the guide, and the operations by tag. */
export const contentsOf = (guide: readonly GuidePage[], operations: readonly Operation[]): readonly Group[] => [
  { title: 'Guide', entries: guide.map(({ path, title }) => ({ url: `v1/docs/${path}`, title })) },
  { title: 'Reference', entries: [{ url: REFERENCE, title: 'All operations' }] },
  ...tagsOf(operations).map((tag) => ({
    title: tag,
    entries: operations
      .filter(({ tags }) => tags.includes(tag))
      .map(({ operationId, summary, method }) => ({
        ...{ url: `v1/docs/operations/${operationId}`, title: summary, method },
      })),
  })),
]

/** The groups as lists of links, of which that of the current page and the link to the reference are open. */
export const contentsHtml = (groups: readonly Group[], current: string, root: string): string => {
  const item = ({ url, title, method }: Entry): string =>
    `<li><a href="${root}${url}"${url === current ? ' aria-current="page"' : ''}>${escapeMarkup(title)}${
      method === undefined || method === 'GET' ? '' : ` <small>${method}</small>`
    }</a></li>`
  return groups
    .map(({ title, entries }) => {
      const isOpen = entries.some(({ url }) => url === current || url === REFERENCE)
      return `<details${isOpen ? ' open' : ''}><summary>${escapeMarkup(title)}</summary><ul>${entries.map(item).join('')}</ul></details>`
    })
    .join('\n')
}

/** The links to the pages before and after a page. */
export const neighboursHtml = (groups: readonly Group[], current: string, root: string): string => {
  const entries = groups.flatMap((group) => group.entries)
  const at = entries.findIndex(({ url }) => url === current)
  const link = (entry: Entry | undefined, rel: 'prev' | 'next', name: string): string =>
    entry === undefined
      ? ''
      : `<a rel="${rel}" href="${root}${entry.url}"><small>${name}</small>${escapeMarkup(entry.title)}</a>`
  return `<nav class="neighbours" aria-label="Previous and next page">${link(entries[at - 1], 'prev', 'Previous')}${link(entries[at + 1], 'next', 'Next')}</nav>`
}

/** Fewer headings need no list. */
const LEAST_HEADINGS = 3

/** The headings of the second level as links; nothing for a short page. */
export const outlineHtml = (headings: readonly Heading[]): string => {
  const shown = headings.filter(({ depth }) => depth === 2)
  if (shown.length < LEAST_HEADINGS) return ''
  const links = shown.map(({ text, anchor }) => `<li><a href="#${anchor}">${escapeMarkup(text)}</a></li>`)
  return `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>${links.join('')}</ul></nav>`
}

/** A heading of the second level with the anchor that its text makes. */
export const headingOf = (text: string): Heading => ({ text, anchor: anchorOf(text), depth: 2 })
