import { escapeMarkup } from '../../lib/http/markup.ts'

/** The pages load their own style and scripts, and send requests only to this service. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What surrounds every page. URLs are relative to `root`, because a proxy may serve the API under a path. */
export type Shell = {
  /** The relative URL of the root of the service: `./`, `../../`. */
  readonly root: string
  readonly style: string
  readonly script: string
  /** Whether the explorer is served. */
  readonly explorer: boolean
}

/** The parts of the service that the head of each page links. */
export type Section = 'guide' | 'reference' | 'glossary' | 'pricing'

type Page = {
  readonly title: string
  readonly section?: Section
  /** HTML of the list of pages next to the page. */
  readonly contents?: string
  /** HTML of the list of headings of the page. */
  readonly outline?: string
  /** HTML. */
  readonly body: string
  /** Relative URL of the same page as Markdown or JSON. */
  readonly twin?: { readonly type: string; readonly url: string }
  /** URLs of further scripts from the root of the service. */
  readonly scripts?: readonly string[]
}

const LOGO =
  '<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M2 17h7l6-10h7" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>'

const header = ({ root, explorer }: Shell, { section, contents }: Page): string => {
  const link = (url: string, title: string, own?: Section): string =>
    `<a href="${root}${url}"${own !== undefined && own === section ? ' aria-current="page"' : ''}>${title}</a>`
  const links = [
    ...(explorer ? [link('explorer/', 'Explore')] : []),
    link('v1/docs/guide/quick-start', 'Guide', 'guide'),
    link('v1/docs', 'Reference', 'reference'),
    link('v1/docs/glossary', 'Glossary', 'glossary'),
    link('v1/docs/pricing', 'Prices', 'pricing'),
    explorer ? link('explorer/status', 'Status') : link('status', 'Status as JSON'),
  ]
  return `<header>
<a class="brand" href="${root}">${LOGO}FX protection</a>
${contents === undefined ? '' : '<button class="menu" popovertarget="contents">Contents</button>'}
<button class="menu" popovertarget="sections">Menu</button>
<nav id="sections" popover aria-label="Sections">${links.join('')}</nav>
<search hidden><input type="search" aria-label="Search the documentation" placeholder="Search" aria-keyshortcuts="/" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd><div class="results" hidden><p role="status"></p><ul></ul></div></search>
</header>`
}

/** A page. */
export const pageOf = (shell: Shell, page: Page): string => {
  const { title, contents, outline = '', body, twin, scripts = [] } = page
  const { root } = shell
  const text = escapeMarkup
  return `<!doctype html>
<html lang="en" data-root="${text(root)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(title)} · FX protection</title>
<link rel="icon" href="data:,">
${twin === undefined ? '' : `<link rel="alternate" type="${text(twin.type)}" href="${text(twin.url)}">`}
<link rel="stylesheet" href="${text(root + shell.style)}">
${[shell.script, ...scripts].map((url) => `<script defer src="${text(root + url)}"></script>`).join('\n')}
</head>
<body${contents === undefined ? '' : ' class="docs"'}>
<a class="skip" href="#main">Skip to the content</a>
${header(shell, page)}
${contents === undefined ? '' : `<nav id="contents" popover aria-label="Pages">\n${contents}\n</nav>`}
<main id="main">
${body}
</main>
${outline}
</body>
</html>
`
}
