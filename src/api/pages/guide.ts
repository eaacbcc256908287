import { readFile } from 'node:fs/promises'
import { packaged } from '../../lib/root.ts'
import { escapeHtml, pageOf } from './html.ts'
import { htmlOf } from './markdown.ts'

/** The pages of the guide in their order: `docs/guide/<name>.md`. */
const names = ['quick-start', 'money', 'buying-and-claiming', 'settlements', 'errors', 'pagination', 'limits'] as const

export type GuidePage = { readonly name: string; readonly title: string; readonly markdown: string }

/** Reads the pages of the guide. Throws when one is missing or does not begin with its title. */
export const readGuide = (): Promise<readonly GuidePage[]> =>
  Promise.all(
    names.map(async (name) => {
      const markdown = await readFile(packaged(`docs/guide/${name}.md`), 'utf8')
      const title = /^# (.+)\n/.exec(markdown)?.[1]
      if (title === undefined) throw new TypeError(`docs/guide/${name}.md does not begin with its title`)
      return { name, title, markdown }
    }),
  )

/** A page of the guide as HTML, with links to the other pages. */
export const guideHtml = (guide: readonly GuidePage[], { name, title, markdown }: GuidePage): string => {
  const links = guide.map((it) =>
    it.name === name
      ? `<strong aria-current="page">${escapeHtml(it.title)}</strong>`
      : `<a href="${it.name}">${escapeHtml(it.title)}</a>`,
  )
  const nav = ['<a href="../../../">Start</a>', ...links, '<a href="../../docs">Reference</a>']
  return pageOf({ title, nav, body: htmlOf(markdown), twin: { type: 'text/markdown', url: `${name}.md` } })
}
