import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { packaged } from '../../../lib/root.ts'
import { type Asset, createAsset, sendAsset } from '../../asset.ts'
import { relativeUrl } from '../../link.ts'
import { sendNotFound } from '../../not-found.ts'
import { assetUrl, pageAssets, shellOf } from '../../pages/assets/assets.ts'
import { contentsHtml, contentsOf, neighboursHtml, outlineHtml } from '../../pages/docs/contents.ts'
import { attachments, readGuide } from '../../pages/docs/guide.ts'
import { guideHtml } from '../../pages/docs/guide-html.ts'
import { llmsText } from '../../pages/docs/llms.ts'
import { operationMarkdown, operationsOf } from '../../pages/docs/operation.ts'
import { operationHtml, referenceHtml } from '../../pages/docs/reference.ts'
import { searchEntries } from '../../pages/docs/search.ts'
import { PAGE_POLICY, pageOf, type Section } from '../../pages/html.ts'
import type { Rendered } from '../../pages/markdown.ts'

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Assets are requested with the hash of their content; any hash is accepted, as several releases may run. */
const Version = z.object({ v: z.string().optional() })

type Described = {
  /** The path of the page from the root of the service. */
  readonly url: string
  readonly title: string
  readonly section: Section
  readonly twin: { readonly type: string; readonly url: string }
  readonly scripts?: readonly string[]
}

type Options = {
  /** Whether the explorer is served. */
  readonly explorer?: boolean
  /** Whether `/mcp` is served. Without it, the page about it is left out. */
  readonly mcp?: boolean
}

/**
 * The documentation, which works offline: `/v1/docs` lists the operations, `/v1/docs/operations/<operation id>` shows
 * and sends one, `/v1/docs/guide/<page>` is the guide, `/v1/docs/glossary`, `/v1/docs/pricing` and
 * `/v1/docs/study/README` are further pages.
 * With `.md` all but the first are Markdown, which `/llms.txt` lists. `/v1/docs/search.json` is what the search finds.
 */
export const docsRoutes: FastifyPluginAsync<Options> = async (app, { explorer = true, mcp = true }) => {
  const guide = (await readGuide()).filter(({ name }) => mcp || name !== 'assistants')
  /** The links of a page lead astray from an address with a slash at its end. */
  app.addHook('onRequest', async ({ url }, reply) => {
    const [path = '', ...query] = url.split('?')
    if (!path.endsWith('/')) return
    const name = path.slice(path.lastIndexOf('/', path.length - 2) + 1, -1)
    return reply.redirect([`../${name}`, ...query].join('?'), 308)
  })
  app.addHook('onSend', async (_, reply) => {
    reply.header('content-security-policy', PAGE_POLICY)
  })

  /** A rendered text with what surrounds it. */
  const surround = async ({ url, ...page }: Described, rendered: Promise<Rendered>): Promise<Buffer> => {
    const root = relativeUrl(`/${url}`, '') ?? './'
    const groups = contentsOf(guide, operationsOf(app.describe()))
    const { html, headings } = await rendered
    return Buffer.from(
      pageOf(await shellOf(root, explorer), {
        ...page,
        contents: contentsHtml(groups, url, root),
        outline: outlineHtml(headings),
        body: html + neighboursHtml(groups, url, root),
      }),
    )
  }

  const serve = (url: string, type: string, read: () => Promise<Buffer> | Buffer | string): void => {
    const asset = createAsset(type, async () => Buffer.from(await read()))
    app.get(url, async (request, reply) => sendAsset(request, reply, await asset()))
  }
  for (const page of guide) {
    const { name, path, title } = page
    const url = `v1/docs/${path}`
    const section = path.startsWith('guide/') ? 'guide' : name === 'glossary' ? name : 'pricing'
    const twin = { type: 'text/markdown', url: `${path.slice(path.lastIndexOf('/') + 1)}.md` }
    serve(`/${url}`, HTML, () => surround({ url, title, section, twin }, guideHtml(page)))
    serve(`/${url}.md`, MARKDOWN, () => page.markdown)
  }
  for (const [path, type] of Object.entries(attachments))
    serve(`/v1/docs/${path}`, type, () => readFile(packaged(`docs/${path}`)))
  serve('/llms.txt', TEXT, () => llmsText(guide, operationsOf(app.describe())))
  serve('/v1/docs/search.json', JSON_TYPE, () => JSON.stringify(searchEntries(guide, operationsOf(app.describe()))))
  serve('/v1/docs', HTML, () => {
    const twin = { type: 'text/plain', url: '../llms.txt' }
    const described: Described = { url: 'v1/docs', title: 'Reference', section: 'reference', twin }
    return surround(described, referenceHtml(operationsOf(app.describe())))
  })

  type Query = { Querystring: z.output<typeof Version> }
  for (const [name, asset] of Object.entries(pageAssets))
    app.get<Query>(`/v1/docs/${name}`, { schema: { querystring: Version } }, async (request, reply) =>
      sendAsset(request, reply, await asset(), { version: request.query.v }),
    )

  /** The pages of each operation that was requested. Only operations of the description get in. */
  const pages = new Map<string, Readonly<Record<'html' | 'markdown', () => Promise<Asset>>>>()
  const pagesOf = (id: string) => {
    const operation = operationsOf(app.describe()).find(({ operationId }) => operationId === id)
    if (operation === undefined) return undefined
    const twin = { type: 'text/markdown', url: `${id}.md` }
    const described = { url: `v1/docs/operations/${id}`, title: operation.summary, section: 'reference', twin } as const
    return {
      html: createAsset(HTML, async () => {
        const scripts = [await assetUrl('console.js'), await assetUrl('live.js')]
        return surround({ ...described, scripts }, operationHtml(app.describe(), operation))
      }),
      markdown: createAsset(MARKDOWN, () => Buffer.from(operationMarkdown(app.describe(), operation))),
    }
  }
  const serveOperation = (url: string, form: 'html' | 'markdown'): void => {
    app.get<{ Params: { id: string } }>(url, async (request, reply) => {
      const { id } = request.params
      const known = pages.get(id) ?? pagesOf(id)
      if (known === undefined)
        return sendNotFound(request, reply, `no operation has the id ${id}: /v1/docs lists all operations`, explorer)
      pages.set(id, known)
      return sendAsset(request, reply, await known[form]())
    })
  }
  serveOperation('/v1/docs/operations/:id', 'html')
  serveOperation('/v1/docs/operations/:id.md', 'markdown')
}
