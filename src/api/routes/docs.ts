import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'

/** Everything the page needs comes from here, and nothing it does goes anywhere else. Its styles are set by script, so inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The addresses are relative: behind a proxy the API may be below a path. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>FX-protection API</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/reference.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

/** What the reference would fetch, send or offer from outside is off. */
const CONFIGURATION = {
  url: 'openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  defaultOpenAllTags: true,
  showDeveloperTools: 'never',
}

const START = `Scalar.createApiReference('#docs', ${JSON.stringify(CONFIGURATION)})\n`

const bundle = new URL('js/standalone.js', import.meta.resolve('@scalar/fastify-api-reference'))

/** `/docs`: the interactive documentation of `/openapi.json`, whole without a network. */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_, reply) => {
    reply.header('content-security-policy', POLICY)
  })

  app.get('/docs', (_, reply) => reply.type('text/html; charset=utf-8').send(PAGE))
  app.get('/docs/start.js', (_, reply) => reply.type('text/javascript; charset=utf-8').send(START))

  let reference: Promise<Buffer> | undefined
  app.get('/docs/reference.js', async (_, reply) => {
    // Read when somebody looks, and once: most processes never show it.
    reference ??= readFile(bundle)
    return reply
      .type('text/javascript; charset=utf-8')
      .header('cache-control', 'public, max-age=3600')
      .send(await reference)
  })
}
