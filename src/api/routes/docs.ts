import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { createAsset, sendAsset } from '../asset.ts'

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
const pageOf = (referenceHash: string, startHash: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>FX-protection API</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/reference.js?v=${referenceHash}"></script>
    <script src="docs/start.js?v=${startHash}"></script>
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

const SCRIPT = 'text/javascript; charset=utf-8'

const reference = createAsset(SCRIPT, () => readFile(bundle))
const start = createAsset(SCRIPT, () => Buffer.from(START))
const page = createAsset('text/html; charset=utf-8', async () =>
  Buffer.from(pageOf((await reference()).hash, (await start()).hash)),
)

/** Scripts are requested by the hash of their content, and are served under any: other releases have other hashes. */
const Script = z.object({ v: z.string().optional() })

/** `/docs`: the interactive documentation of `/openapi.json`, whole without a network. */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_, reply) => {
    reply.header('content-security-policy', POLICY)
  })

  app.get('/docs', async (request, reply) => sendAsset(request, reply, await page()))
  for (const [url, asset] of [
    ['/docs/reference.js', reference],
    ['/docs/start.js', start],
  ] as const) {
    app.get<{ Querystring: z.output<typeof Script> }>(
      url,
      { schema: { querystring: Script } },
      async (request, reply) => sendAsset(request, reply, await asset(), request.query.v),
    )
  }
}
