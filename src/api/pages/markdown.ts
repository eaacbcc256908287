import { Marked } from 'marked'

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

const marked = new Marked({
  async: false,
  renderer: {
    heading({ text, depth, tokens }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
  },
})

/**
 * Renders Markdown of this repository. Links to other pages lose their `.md`, and code that is too wide can be scrolled
 * with the keyboard.
 */
export const htmlOf = (markdown: string): string =>
  String(marked.parse(markdown))
    .replace(/href="([\w./-]+)\.md(#[\w-]+)?"/g, 'href="$1$2"')
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<table tabindex="0">')
