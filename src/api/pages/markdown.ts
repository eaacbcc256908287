import { Lexer, Marked, type Token, type Tokens } from 'marked'
import { escapeMarkup } from '../../lib/http/markup.ts'

export type Heading = { readonly text: string; readonly anchor: string; readonly depth: number }

/** A text as HTML, and its headings. */
export type Rendered = { readonly html: string; readonly headings: readonly Heading[] }

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

const textOf = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => ('tokens' in token && token.tokens ? textOf(token.tokens) : (Object(token).text ?? '')))
    .join('')

/** The text of Markdown without its marks. */
export const plainOf = (markdown: string): string => textOf(Lexer.lexInline(markdown))

/** The languages of commands, whose long lines are wrapped. */
const shells: ReadonlySet<string> = new Set(['sh', 'console'])

/** Code in a box that can be scrolled with the keyboard. The script of the pages adds a button that copies it. */
export const codeHtml = (html: string, language = ''): string =>
  `<div class="code${shells.has(language) ? ' wrap' : ''}"><pre tabindex="0"><code>${html}</code></pre></div>\n`

/** Highlighting is loaded for the first page that has code, because most processes never show one. */
const loadHighlight = async () => (await import('./highlight.ts')).highlight

type Highlight = Awaited<ReturnType<typeof loadHighlight>>

const markedWith = (highlight: Highlight): Marked =>
  new Marked({
    async: false,
    renderer: {
      heading({ text, depth, tokens }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      code({ text, lang = '' }) {
        const [language = ''] = lang.split(' ', 1)
        return codeHtml(highlight(text, language), language)
      },
    },
  })

const inline = new Marked({ async: false })

/** Links to other pages lose their `.md`. */
const linked = (html: string): string => html.replace(/href="([\w./-]+)\.md(#[\w-]+)?"/g, 'href="$1$2"')

/** Markdown of one line as HTML, without a paragraph around it. */
export const inlineOf = (markdown: string): string => linked(String(inline.parseInline(markdown)))

/** Code as HTML with colours. */
export const highlighted = async (code: string, language: string): Promise<string> =>
  (await loadHighlight())(code, language)

/** Renders Markdown of this repository. Wide tables can be scrolled with the keyboard. */
export const render = async (markdown: string): Promise<Rendered> => {
  const marked = markedWith(await loadHighlight())
  const tokens = marked.lexer(markdown)
  const headings = tokens.filter((token): token is Tokens.Heading => token.type === 'heading')
  const html = linked(marked.parser(tokens))
    .replaceAll('<table>', '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>')
  return {
    html,
    headings: headings.map(({ text, depth }) => ({ text: plainOf(text), anchor: anchorOf(text), depth })),
  }
}

/** A heading with its anchor. */
export const headingHtml = (depth: number, text: string): string =>
  `<h${depth} id="${anchorOf(text)}">${escapeMarkup(text)}</h${depth}>\n`
