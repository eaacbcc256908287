import { z } from 'zod'
import { escapeMarkup } from '../../lib/http/markup.ts'
import { release } from '../../lib/root.ts'
import { OfChain } from '../../protocol/chains.ts'
import { info } from '../openapi/texts.ts'
import { pageOf } from './html.ts'

/** Relative URLs, because a proxy may serve the API under a path. */
const links = {
  guide: 'v1/docs/guide/quick-start',
  reference: 'v1/docs',
  description: 'v1/openapi.json',
  status: 'status',
  changelog: 'v1/changelog',
  llms: 'llms.txt',
} as const

const titles: Readonly<Record<keyof typeof links, string>> = {
  guide: 'Guide: from the first request to a claimed payout',
  reference: 'Reference of all operations, with forms that send them',
  description: 'OpenAPI description, for code generators',
  status: 'State of the index of each chain',
  changelog: 'Changes by release',
  llms: 'Index of the documentation as Markdown, for language models',
}

const firstCallsOf = (chainId: number | undefined) => [
  { purpose: 'Chains, contracts and payment tokens', path: 'v1/chains' },
  {
    purpose: 'Events whose protection can be bought',
    path: 'v1/hedge/events?state=open&poolOpen=true&capacityFrom=1&limit=5',
  },
  { purpose: 'Fees of the protocol', path: `v1/hedge/fees?chainId=${chainId}` },
]

/** The body of `/`. */
export const Landing = z.object({
  name: z.string().meta({ description: 'The name of the service' }),
  summary: z.string().meta({ description: 'What the service is, in one sentence' }),
  release: z.string().meta({ description: 'Version of the running release' }),
  ready: z.boolean().meta({ description: 'Whether the index of every chain answers and is current' }),
  chains: z
    .array(
      z.object({
        chainId: OfChain,
        name: z.string().meta({ description: 'Name of the chain' }),
        problem: z
          .string()
          .nullable()
          .meta({ description: 'Why the index of the chain is not ready; null when it is' }),
      }),
    )
    .meta({ description: 'The chains of this service' }),
  links: z
    .record(z.string(), z.string())
    .meta({ description: 'Relative URLs of the documentation and of the state of the service' }),
  firstCalls: z
    .array(
      z.object({
        purpose: z.string().meta({ description: 'What the response is' }),
        path: z.string().meta({ description: 'Relative URL' }),
      }),
    )
    .meta({ description: 'Requests to start with' }),
})

type Landing = z.output<typeof Landing>

/** The body of `/` for the state of each chain. */
export const landingOf = (chains: Landing['chains']): Landing => ({
  name: info.title,
  summary: info.summary,
  release,
  ready: chains.every(({ problem }) => problem === null),
  chains,
  links,
  firstCalls: firstCallsOf(chains[0]?.chainId),
})

const list = (items: readonly string[]): string => `<ul>\n${items.map((item) => `<li>${item}</li>`).join('\n')}\n</ul>`

/** The same as a page. `origin` is the address of the service as the browser sees it. */
export const landingPage = ({ name, summary, release, ready, chains, firstCalls }: Landing, origin: string): string => {
  const state = chains.map(
    ({ chainId, name, problem }) =>
      `${escapeMarkup(name)} (${chainId}): ${problem === null ? 'ready' : escapeMarkup(problem)}`,
  )
  const pages = Object.entries(links).map(([key, url]) => `<a href="${url}">${titles[key as keyof typeof links]}</a>`)
  const calls = firstCalls.map(({ purpose, path }) => `# ${purpose}\ncurl -s '${origin}/${path}'`).join('\n\n')
  const body = `<h1>${name}</h1>
<p>${summary}.</p>
<h2>${ready ? 'Ready' : 'Not ready'}</h2>
${list(state)}
<h2>Documentation</h2>
${list(pages)}
<h2>First requests</h2>
<pre tabindex="0"><code>${escapeMarkup(calls)}</code></pre>
<p><small>Release ${escapeMarkup(release)}. Programs get this page as JSON.</small></p>`
  return pageOf({ title: name, body, twin: { type: 'application/json', url: '.' } })
}
