import { type Rendered, render } from '../markdown.ts'
import type { GuidePage } from './guide.ts'
import { termAnchor } from './search.ts'

/** A page of the guide, the glossary or the page about prices. Each term of the glossary has an anchor. */
export const guideHtml = async ({ name, markdown }: GuidePage): Promise<Rendered> => {
  const { html, headings } = await render(markdown)
  if (name !== 'glossary') return { html, headings }
  const anchored = html.replace(
    /<tr>\n<td>([^<]+)<\/td>/g,
    (_, term: string) => `<tr id="${termAnchor(term)}">\n<td>${term}</td>`,
  )
  return { html: anchored, headings }
}
