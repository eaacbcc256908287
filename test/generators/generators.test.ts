import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { operations } from '../support/openapi.ts'
import { byForm } from '../support/repetitions.ts'
import { type Generator, generators, kubbConfig, usage } from './samples.ts'

const here = import.meta.dirname
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()) })
const Lock = z.object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) })
const readJson = (name: string): unknown => JSON.parse(readFileSync(join(here, name), 'utf8'))

/** `npm ci` would install other versions, or fail, if the two files differed. */
test('every generator is pinned to one version, which is the one of the lock file', () => {
  const { dependencies } = Manifest.parse(readJson('package.json'))
  const { packages } = Lock.parse(readJson('package-lock.json'))
  const locked = Object.keys(dependencies).map((name) => [name, packages[`node_modules/${name}`]?.version])
  expect(Object.fromEntries(locked)).toEqual(dependencies)
  expect(Object.values(dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
})

/** Installing needs the network. All of it takes up to two minutes, so the default form leaves it out. */
if (byForm(false, true)) {
  let folder: string
  const run = (program: string, ...args: readonly string[]): void => {
    const env = { ...process.env, DO_NOT_TRACK: '1' }
    const { status, error, stdout, stderr } = spawnSync(program, args, {
      ...{ cwd: folder, env, encoding: 'utf8', timeout: 300_000, maxBuffer: 64 * 1024 * 1024 },
    })
    const output = `${error ?? ''}${stdout}${stderr}`.slice(0, 4_000)
    expect({ program, args, status, output: status === 0 ? '' : output }).toMatchObject({ status: 0, output: '' })
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fx-generators-'))
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(folder, name))
    copyFileSync('docs/openapi.json', join(folder, 'openapi.json'))
    writeFileSync(join(folder, 'kubb.config.js'), kubbConfig)
    run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
  }, 300_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const compile = (generator: Generator): void => {
    // Libraries are not checked: a declaration of `@kubb/plugin-client` imports a file that has no types.
    const compilerOptions = {
      skipLibCheck: true,
      ...{ strict: true, noEmit: true, target: 'ES2022', lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [] },
      ...{ module: 'ESNext', moduleResolution: 'bundler', allowImportingTsExtensions: true },
    }
    const ids = operations.map(({ operationId }) => operationId)
    writeFileSync(join(folder, `${generator.name}.ts`), usage(generator, ids))
    const include = [`${generator.name}.ts`, `${generator.name}/**/*.ts`]
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
    for (const compiler of ['typescript', 'typescript-7']) {
      run(process.execPath, resolve('node_modules', compiler, 'bin/tsc'))
    }
  }

  test.each(generators)('$name generates every operation, and its code compiles under strict', (generator) => {
    const modules = generator.name === 'openapi-typescript' ? resolve('node_modules') : join(folder, 'node_modules')
    const began = performance.now()
    run(process.execPath, join(modules, generator.program), ...generator.args)
    const generated = performance.now()
    const files = readdirSync(join(folder, generator.name), { recursive: true }).filter((it) =>
      /\.ts$/.test(String(it)),
    )
    compile(generator)
    const seconds = (from: number, to: number): string => `${((to - from) / 1_000).toFixed(1)} s`
    console.log(
      `${generator.name}: ${files.length} files in ${seconds(began, generated)},`,
      `compiled twice in ${seconds(generated, performance.now())}`,
    )
  })
}
