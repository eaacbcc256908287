import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../../../lib/errors.ts'
import { IMMUTABLE } from '../../asset.ts'
import { relativeUrl } from '../../link.ts'
import { type ExplorerOptions, explorerPolicy, readExplorer } from '../../pages/explorer.ts'
import { acceptedEncodings } from '../../response-cache/compress.ts'

const ROOT = '/explorer'

/** The explorer: its files by their names, and for any other path the page that shows it. */
export const explorerRoutes: FastifyPluginAsync<ExplorerOptions> = async (app, { sandboxUrl, folder }) => {
  const explorer = await readExplorer(folder)
  const sandbox = sandboxUrl === null ? '' : `<script type="module" src="${sandboxUrl}/sandbox.js"></script>\n`
  const policy = explorerPolicy(sandboxUrl)

  const sendPage = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (explorer === null) throw notFound('the explorer was not built: run npm run build')
    // A proxy may serve the API under a path.
    const service = relativeUrl(request.url, '')
    if (service === undefined) throw notFound('no page of the explorer has so many folders')
    const page = explorer.page.replace('</head>', `${sandbox}</head>`).replaceAll('{service}', service)
    reply.headers({ 'content-security-policy': policy, 'cache-control': 'public, no-cache' })
    return reply.type('text/html; charset=utf-8').send(page)
  }
  app.get(ROOT, async (request, reply) => sendPage(request, reply))
  app.get(`${ROOT}/*`, async (request, reply) => sendPage(request, reply))

  app.get<{ Params: { name: string } }>(`${ROOT}/assets/:name`, async ({ headers, params: { name } }, reply) => {
    const type = explorer?.typeOf(name)
    if (explorer === null || type === undefined)
      throw notFound('the explorer of this release has no such file: load the page again')
    const [encoding = 'identity'] = acceptedEncodings(headers['accept-encoding'])
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    reply.headers({ vary: 'accept-encoding', 'cache-control': IMMUTABLE })
    return reply.type(type).send(await explorer.read(name, encoding))
  })
}
