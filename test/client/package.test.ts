import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { byForm } from '../support/repetitions.ts'

const program = `
import { createClient, ExecutionError, formatAmount, type Plan } from 'fx-protection-client'
const client = createClient({ baseUrl: 'http://127.0.0.1:9', attempts: 1 })
export const list = async () => {
  for await (const { notional, decimals } of client.positions.list({ wallet: '0x00' })) {
    const amount: bigint = notional
    formatAmount(amount, decimals ?? 0)
  }
  const plan: Plan = await client.plans.deposit({ chainId: 1, eventId: 1, from: '0x00', amount: 1n })
  // @ts-expect-error: an amount is a bigint
  await client.plans.deposit({ chainId: 1, eventId: 1, from: '0x00', amount: 1 })
  return plan.cost?.total
}
await list().catch((error) => console.log(error.code, error instanceof ExecutionError))
`

const run = (cwd: string, command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

describe('the package', () => {
  const bundle = async (code: string): Promise<string> => {
    const stdin = { contents: code, resolveDir: import.meta.dirname, loader: 'ts' as const }
    const { outputFiles } = await build({
      ...{ stdin, bundle: true, minify: true, write: false, format: 'esm', platform: 'browser' },
    })
    return outputFiles[0]?.text ?? ''
  }

  test('the bundle for browsers has less than 15 KB after gzip, and one function is much smaller', async () => {
    const all = await bundle("export * from 'fx-protection-client'")
    const one = await bundle("export { formatAmount } from 'fx-protection-client'")
    expect(gzipSync(all).length).toBeLessThan(15_000)
    expect(gzipSync(all).length).toBeGreaterThan(3_000)
    expect(gzipSync(one).length).toBeLessThan(500)
  })

  test('the client has the version of the service', () => {
    const versionOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8')).version
    expect(versionOf('client/package.json')).toBe(versionOf('package.json'))
  })

  // Packing, installing and compiling take four seconds, so the default form leaves them out.
  if (byForm(false, true)) {
    test('the packed client installs into an empty project, compiles under strict, and runs in Node', () => {
      const folder = mkdtempSync(join(tmpdir(), 'fx-client-'))
      try {
        const [archive = ''] = run(resolve('client'), 'npm', 'pack', '--silent', '--pack-destination', folder).split(
          '\n',
        )
        writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
        run(folder, 'npm', 'install', '--silent', '--no-audit', '--no-fund', '--offline', `./${archive}`)
        expect(run(folder, 'npm', 'ls', '--all', '--parseable').trim().split('\n')).toHaveLength(2)
        for (const [moduleResolution, module] of [
          ['bundler', 'ESNext'],
          ['node16', 'Node16'],
        ]) {
          const compilerOptions = {
            ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, target: 'ES2022' },
            ...{ moduleResolution, module, types: [], lib: ['ES2022', 'DOM', 'DOM.Iterable'], outDir: 'out' },
          }
          writeFileSync(join(folder, 'main.ts'), program)
          writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
          for (const compiler of ['typescript', 'typescript-7']) {
            run(folder, process.execPath, resolve('node_modules', compiler, 'bin/tsc'))
          }
          expect(run(folder, process.execPath, 'out/main.js').trim()).toBe('network_error false')
        }
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
