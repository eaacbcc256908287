import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { explorerRoutes } from '../../../src/api/routes/pages/explorer.ts'
import { openRoutes } from './route-app.ts'

const SCRIPT = `console.log('${'explorer '.repeat(300)}')`
const PAGE = '<html><head><script src="{service}explorer/assets/main.HASH.js"></script></head></html>'

/** An explorer of one script, or of none. */
const open = async ({ sandboxUrl = null as string | null, isBuilt = true } = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'fx-explorer-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  if (isBuilt) {
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), PAGE)
    const file = join(folder, 'assets/main.HASH.js')
    await writeFile(file, SCRIPT)
    await writeFile(`${file}.br`, brotliCompressSync(SCRIPT))
    await writeFile(`${file}.gz`, gzipSync(SCRIPT))
  }
  return openRoutes((app) => app.register(explorerRoutes, { sandboxUrl, folder: pathToFileURL(`${folder}/`) }))
}

test.each([
  ['/explorer', './'],
  ['/explorer/', '../'],
  ['/explorer/events?pair=USD/MXN', '../'],
  ['/explorer/event/8453/9', '../../../'],
  ['/explorer/no/such/page', '../../../'],
])('%s is the page, whose files are at %s of the service', async (url, service) => {
  const app = await open()
  const { statusCode, headers, body } = await app.inject({ url })
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(headers['cache-control']).toBe('public, no-cache')
  expect(body).toBe(PAGE.replace('{service}', service))
  const script = new URL(`${service}explorer/assets/main.HASH.js`, `http://host/under/a/path${url}`)
  expect(script.pathname).toBe('/under/a/path/explorer/assets/main.HASH.js')
})

test.each(['/'.repeat(15_000), '/a'.repeat(17)])(
  'an address with more folders than any page is not found',
  async (rest) => {
    const app = await open()
    const { statusCode, body } = await app.inject({ url: `/explorer${rest}` })
    expect(statusCode).toBe(404)
    expect(body.length).toBeLessThan(1_000)
  },
)

test('the page runs scripts and sends requests of this service only, and no page can frame it', async () => {
  const app = await open()
  const { headers } = await app.inject({ url: '/explorer' })
  expect(String(headers['content-security-policy']).split('; ')).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ])
})

test('in a sandbox, the page loads the controls and may reach nothing else', async () => {
  const app = await open({ sandboxUrl: 'http://127.0.0.1:4000' })
  const { headers, body } = await app.inject({ url: '/explorer' })
  expect(body).toContain('<script type="module" src="http://127.0.0.1:4000/sandbox.js"></script>\n</head>')
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("script-src 'self' http://127.0.0.1:4000;")
  expect(policy).toContain("connect-src 'self' http://127.0.0.1:4000;")
})

const decoders = { br: brotliDecompressSync, gzip: gunzipSync } as const

test.each(['br', 'gzip', undefined] as const)(
  'a file is sent as it was compressed (%s), for ever',
  async (encoding) => {
    const app = await open()
    const given = encoding === undefined ? {} : { 'accept-encoding': encoding }
    const { statusCode, headers, rawPayload } = await app.inject({
      url: '/explorer/assets/main.HASH.js',
      headers: given,
    })
    expect([statusCode, headers['content-encoding']]).toEqual([200, encoding])
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    })
    expect(String(encoding === undefined ? rawPayload : decoders[encoding](rawPayload))).toBe(SCRIPT)
  },
)

test.each(['main.OTHER.js', 'main.HASH.js.br', '..%2Findex.html', '..%2F..%2F..%2Fpackage.json', '%2Fetc%2Fpasswd'])(
  'a file that the explorer does not have is not sent: %s',
  async (name) => {
    const app = await open()
    const { statusCode, body } = await app.inject({ url: `/explorer/assets/${name}` })
    expect(statusCode).toBe(404)
    expect(body).toContain('load the page again')
  },
)

test('without a build, the page and its files are not found, and the answer names the command', async () => {
  const app = await open({ isBuilt: false })
  for (const url of ['/explorer', '/explorer/events']) {
    const { statusCode, body } = await app.inject({ url })
    expect(statusCode).toBe(404)
    expect(body).toContain('npm run build')
  }
  expect((await app.inject({ url: '/explorer/assets/main.HASH.js' })).statusCode).toBe(404)
})
