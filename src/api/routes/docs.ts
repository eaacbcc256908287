import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { notFound } from '../../lib/errors.ts'
import { type Asset, createAsset, sendAsset } from '../asset.ts'
import { CONSOLE_SCRIPT } from '../pages/console.ts'
import { guideHtml, readGuide } from '../pages/guide.ts'
import { PAGE_POLICY } from '../pages/html.ts'
import { llmsText } from '../pages/llms.ts'
import { operationMarkdown, operationsOf } from '../pages/operation.ts'
import { operationHtml, referenceHtml } from '../pages/reference.ts'

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** The script is requested with the hash of its content; any hash is accepted, as several releases may run. */
const Script = z.object({ v: z.string().optional() })

/**
 * The documentation, which works offline: `/v1/docs` lists the operations, `/v1/docs/operations/<operation id>` shows
 * and sends one, `/v1/docs/guide/<page>` is the guide. With `.md` the last two are Markdown, which `/llms.txt` lists.
 */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  const guide = await readGuide()
  app.addHook('onSend', async (_, reply) => {
    reply.header('content-security-policy', PAGE_POLICY)
  })

  const serve = (url: string, type: string, read: () => string): void => {
    const asset = createAsset(type, () => Buffer.from(read()))
    app.get(url, async (request, reply) => sendAsset(request, reply, await asset()))
  }
  for (const page of guide) {
    serve(`/v1/docs/guide/${page.name}`, HTML, () => guideHtml(guide, page))
    serve(`/v1/docs/guide/${page.name}.md`, MARKDOWN, () => page.markdown)
  }
  serve('/llms.txt', TEXT, () => llmsText(guide, operationsOf(app.describe())))
  serve('/v1/docs', HTML, () => referenceHtml(operationsOf(app.describe())))

  const script = createAsset(SCRIPT, () => Buffer.from(CONSOLE_SCRIPT))
  type Query = { Querystring: z.output<typeof Script> }
  app.get<Query>('/v1/docs/console.js', { schema: { querystring: Script } }, async (request, reply) =>
    sendAsset(request, reply, await script(), request.query.v),
  )

  /** The pages of each operation that was requested. Only operations of the description get in. */
  const pages = new Map<string, Readonly<Record<'html' | 'markdown', () => Promise<Asset>>>>()
  const pagesOf = (id: string) => {
    const operation = operationsOf(app.describe()).find(({ operationId }) => operationId === id)
    if (operation === undefined) throw notFound(`no operation has the id ${id}: /v1/docs lists all operations`)
    const markdown = operationMarkdown(app.describe(), operation)
    return {
      html: createAsset(HTML, async () =>
        Buffer.from(operationHtml(operation, markdown, `../console.js?v=${(await script()).hash}`)),
      ),
      markdown: createAsset(MARKDOWN, () => Buffer.from(markdown)),
    }
  }
  const serveOperation = (url: string, form: 'html' | 'markdown'): void => {
    app.get<{ Params: { id: string } }>(url, async (request, reply) => {
      const { id } = request.params
      const known = pages.get(id) ?? pagesOf(id)
      pages.set(id, known)
      return sendAsset(request, reply, await known[form]())
    })
  }
  serveOperation('/v1/docs/operations/:id', 'html')
  serveOperation('/v1/docs/operations/:id.md', 'markdown')
}
