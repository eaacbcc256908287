import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { createAsset, sendAsset } from '../asset.ts'

/** The page loads everything from this service and sends requests only to it. Its script sets inline styles. */
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

/** The URLs are relative, because a proxy may serve the API under a path. */
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

/** Disables the parts of the reference that load from, send to or link to other services. */
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

/** Scripts are requested with the hash of their content; any hash is accepted, as several releases may run. */
const Script = z.object({ v: z.string().optional() })
const schema = { querystring: Script }

/** `/docs`: the interactive documentation of `/openapi.json`, which works without access to the internet. */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_, reply) => {
    reply.header('content-security-policy', POLICY)
  })

  app.get('/docs', async (request, reply) => sendAsset(request, reply, await page()))
  for (const [name, asset] of Object.entries({ reference, start })) {
    app.get<{ Querystring: z.output<typeof Script> }>(`/docs/${name}.js`, { schema }, async (request, reply) =>
      sendAsset(request, reply, await asset(), request.query.v),
    )
  }
}
