import { anchorOf, plainOf } from '../markdown.ts'
import type { GuidePage } from './guide.ts'
import { type Operation, tagsOf } from './operation.ts'

/** A part of the documentation that a search can find. `url` is relative to the root of the service. */
export type Entry = {
  readonly kind: 'guide' | 'term' | 'operation'
  readonly title: string
  /** Where it is: the page, or method and path. */
  readonly place: string
  readonly url: string
  readonly text: string
}

/** Text in one line without Markdown's marks, and the lines of tables and around code. */
const lineOf = (markdown: string): string =>
  plainOf(markdown.replace(/^```.*$/gm, ' '))
    .replace(/^[|\-: ]+$/gm, ' ')
    .replace(/[|\s]+/g, ' ')
    .trim()

/** The sections of a page, each with the heading that begins it. */
const sectionsOf = ({ path, title, markdown }: GuidePage): readonly Entry[] =>
  markdown.split(/^(?=#{1,3} )/m).flatMap((section) => {
    const [, heading = '', body = ''] = /^#+ (.+)\n([\s\S]*)$/.exec(section) ?? []
    if (heading === '') return []
    const isWhole = heading === title
    const url = `v1/docs/${path}${isWhole ? '' : `#${anchorOf(heading)}`}`
    return [{ kind: 'guide', title: plainOf(heading), place: isWhole ? 'Guide' : title, url, text: lineOf(body) }]
  })

/** The terms of the glossary, which are the rows of its tables. */
const termsOf = (markdown: string): readonly (readonly [term: string, meaning: string])[] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, term = '', meaning = '']) => [term, plainOf(meaning)] as const)
    .filter(([term]) => term !== 'term' && !term.startsWith('-'))

/** The anchor of a term of the glossary. */
export const termAnchor = (term: string): string => `term-${anchorOf(plainOf(term))}`

/** Everything that the search of the documentation finds: sections of pages, terms of the glossary, and operations. */
export const searchEntries = (guide: readonly GuidePage[], operations: readonly Operation[]): readonly Entry[] => [
  ...guide.flatMap((page): readonly Entry[] =>
    page.name === 'glossary'
      ? termsOf(page.markdown).map(([term, text]) => ({
          ...{
            kind: 'term',
            title: plainOf(term),
            place: page.title,
            text,
            url: `v1/docs/${page.path}#${termAnchor(term)}`,
          },
        }))
      : sectionsOf(page),
  ),
  ...tagsOf(operations).flatMap((tag) =>
    operations
      .filter(({ tags }) => tags.includes(tag))
      .map(({ operationId, summary, method, path, description, parameters = [] }): Entry => {
        const names = parameters.map(({ name }) => name).join(' ')
        const text = lineOf(`${description} ${names} ${operationId}`)
        return {
          kind: 'operation',
          title: summary,
          place: `${method} ${path}`,
          url: `v1/docs/operations/${operationId}`,
          text,
        }
      }),
  ),
]
