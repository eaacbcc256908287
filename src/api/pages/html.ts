import { createHash } from 'node:crypto'
import { escapeMarkup } from '../../lib/http/markup.ts'

const STYLE = `
:root { color-scheme: light dark; --text: #1a1f26; --muted: #55606e; --line: #d5dbe3; --code: #f2f4f7; --link: #0b57b7; --back: #fff }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ee; --muted: #a3adba; --line: #353d48; --code: #1d232b; --link: #7db4ff; --back: #12161b }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1rem 4rem; font: 1rem/1.6 system-ui, sans-serif; color: var(--text); background: var(--back) }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .75rem }
h1 { margin-top: 0 }
a { color: var(--link) }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: 2rem; padding-bottom: .75rem; border-bottom: 1px solid var(--line) }
code { font: .9em/1.5 ui-monospace, monospace; background: var(--code); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere }
pre { background: var(--code); padding: .75rem 1rem; border-radius: .5rem; overflow-x: auto }
pre code { padding: 0; overflow-wrap: normal }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { text-align: left; min-width: 9.5rem; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line) }
label { display: block; margin: .5rem 0 }
input, textarea { display: block; width: 100%; padding: .35rem .5rem; font: .9rem/1.5 ui-monospace, monospace; color: inherit; background: var(--back); border: 1px solid var(--muted); border-radius: .25rem }
button { padding: .35rem 1.25rem; font: inherit; color: #fff; background: #0b57b7; border: 0; border-radius: .25rem }
form pre { max-height: 30rem }
form pre:empty { display: none }
small { color: var(--muted) }
`

/** The pages send requests only to this service. Their style is the only one that the browser accepts. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "script-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

type Page = {
  readonly title: string
  /** HTML of links to related pages. */
  readonly nav?: readonly string[]
  /** HTML. */
  readonly body: string
  /** Relative URL of the same page as Markdown or JSON. */
  readonly twin: { readonly type: string; readonly url: string }
}

/** A page of the documentation. */
export const pageOf = ({ title, nav = [], body, twin }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="${twin.type}" href="${twin.url}">
<style>${STYLE}</style>
</head>
<body>
${nav.length === 0 ? '' : `<nav aria-label="Pages">${nav.join(' ')}</nav>`}
<main>
${body}
</main>
</body>
</html>
`
