import { z } from 'zod'
import { escapeMarkup } from '../../lib/http/markup.ts'
import { release } from '../../lib/root.ts'
import { OfChain } from '../../protocol/chains.ts'
import { info } from '../openapi/texts.ts'
import { pageOf, type Shell } from './html.ts'
import { codeHtml, highlighted } from './markdown.ts'

/** Relative URLs, because a proxy may serve the API under a path. */
const links = {
  guide: 'v1/docs/guide/quick-start',
  reference: 'v1/docs',
  description: 'v1/openapi.json',
  status: 'status',
  changelog: 'v1/changelog',
  llms: 'llms.txt',
} as const

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

/** What the service is, for a reader who has not heard of the protocol. */
const LEAD =
  'Buy, sell and settle protection against a move of an exchange rate on-chain. This API reads every event, pool and position, and returns the transactions that your wallet signs.'

type Link = readonly [url: string, title: string, about: string]

type Door = { readonly title: string; readonly about: string; readonly links: readonly Link[] }

const explore: Door = {
  title: 'Explore',
  about: 'Events, pools, positions and wallets as pages and charts, without a line of code.',
  links: [
    ['explorer/', 'Open the explorer', 'What is open, how full it is, what it pays'],
    ['v1/docs/glossary', 'Glossary', 'The words that the pages use'],
    ['v1/docs/pricing', 'Prices', 'What protection costs, and why'],
  ],
}

const integrate: Door = {
  title: 'Integrate',
  about: 'REST with a typed client: amounts to the unit, lists through reorgs, simulated plans.',
  links: [
    [links.guide, 'Quick start', 'From the first request to a claimed payout'],
    ['v1/docs/guide/quick-start#install-the-client', 'TypeScript client', 'For Node and browsers'],
    [links.reference, 'Reference', 'All operations, with forms that send them'],
    [links.description, 'OpenAPI description', 'For code generators'],
    [links.llms, 'llms.txt', 'The documentation as Markdown, for language models'],
  ],
}

const operate = (explorer: boolean): Door => ({
  title: 'Operate',
  about: 'Whether each index is complete and current, and what changes with a release.',
  links: [
    ...(explorer ? ([['explorer/status', 'Status', 'Chains, lag, endpoints, alarms']] as const) : []),
    [links.status, 'Status as JSON', 'The state of the index of each chain, for programs'],
    [links.changelog, 'Changelog', 'What changed, by release'],
    ['v1/docs/guide/limits', 'Limits', 'Sizes, rates and times'],
    ['v1/docs/guide/errors', 'Errors', 'What each code means, and what to do'],
  ],
})

const doorHtml = (root: string, { title, about, links }: Door): string => {
  const items = links.map(([url, name, what]) => `<li><a href="${root}${url}">${name}</a><small>${what}</small></li>`)
  return `<section class="card"><h2>${title}</h2><p>${about}</p><ul>${items.join('')}</ul></section>`
}

const chainHtml = ({ chainId, name, problem }: Landing['chains'][number]): string => {
  const [kind, word, about] =
    problem === null ? ['good', 'ready', 'Complete and current'] : ['bad', 'not ready', problem]
  return `<li class="card"><p><strong>${escapeMarkup(name)}</strong> <small>${chainId}</small> <span class="pill ${kind}">${word}</span></p><p><small>${escapeMarkup(about)}</small></p></li>`
}

/** A request in a shell: its address may have quotes, because a client names the host. */
const curlOf = (origin: string, path: string): string => `curl -s '${`${origin}/${path}`.replaceAll("'", "'\\''")}'`

/**
 * The same as a page. `origin` is the address of the service as the browser sees it, and `live` the HTML of a picture
 * of an open event; undefined where there is none.
 */
export const landingPage = async (shell: Shell, landing: Landing, origin: string, live?: string): Promise<string> => {
  const { name, release, ready, chains, firstCalls } = landing
  const { root, explorer } = shell
  const calls = firstCalls.map(
    async ({ purpose, path }) =>
      `<h3>${escapeMarkup(purpose)}</h3>\n${codeHtml(await highlighted(curlOf(origin, path), 'sh'), 'sh')}`,
  )
  const [first, second] = explorer
    ? ([
        ['explorer/', 'Explore the events'],
        [links.guide, 'Start to integrate'],
      ] as const)
    : ([
        [links.guide, 'Start to integrate'],
        [links.reference, 'Open the reference'],
      ] as const)
  const doors = [...(explorer ? [explore] : []), integrate, operate(explorer)]
  const body = `<section class="hero${live === undefined ? '' : ' with-figure'}">
<div><h1>${escapeMarkup(name)}</h1>
<p class="lead">${LEAD}</p>
<p class="actions"><a class="button" href="${root}${first[0]}">${first[1]}</a> <a class="button plain" href="${root}${second[0]}">${second[1]}</a></p></div>
${live ?? ''}
</section>
<div class="doors">
${doors.map((door) => doorHtml(root, door)).join('\n')}
</div>
<section><h2 id="chains">Chains <span class="pill ${ready ? 'good' : 'bad'}">${ready ? 'ready' : 'not ready'}</span></h2>
<ul class="chains">${chains.map(chainHtml).join('\n')}</ul></section>
<section><h2 id="first-requests">First requests</h2>
<div class="calls">${(await Promise.all(calls)).map((html) => `<div>${html}</div>`).join('\n')}</div></section>
<footer><small>Release ${escapeMarkup(release)}. Programs get this page as JSON.</small></footer>`
  return pageOf(shell, { title: 'API', body, twin: { type: 'application/json', url: root } })
}
