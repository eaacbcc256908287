import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type Edit, generated, recipes } from './recipes.ts'

/*
 * The recipes of CONTRIBUTING.md, followed in a copy of the repository: each touches the files that its table lists and
 * no other one, and the copy serves what they add.
 */

const run = promisify(execFile)
const root = new URL('../../', import.meta.url).pathname
let copy = ''

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'fx-recipes-'))
  const pages = ['docs/guide', 'docs/glossary.md', 'docs/pricing.md', 'docs/images', 'docs/study']
  const docs = [...pages, 'docs/openapi.json', 'docs/examples.json', 'docs/runbook.md', 'CHANGELOG.md']
  const files = [
    ...docs,
    'deploy/prometheus',
    'client/src/webhooks.ts',
    'explorer/src/act/actions.ts',
    'package.json',
    'tsconfig.json',
  ]
  const tests = ['test/vectors/specification.ts', 'test/examples/requests.ts', 'test/examples/plans.ts']
  const parts = ['src', 'migrations', ...files, ...tests]
  for (const part of parts) await cp(join(root, part), join(copy, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const edit of [...generated, ...Object.values(recipes).flat()]) await apply(edit)
  printed = await print()
}, 120_000)
afterAll(() => rm(copy, { recursive: true, force: true }))

const apply = async ({ file, anchor, text }: Edit): Promise<void> => {
  const path = join(copy, file)
  if (anchor === undefined) return writeFile(path, text, { flag: 'wx' })
  const before = await readFile(path, 'utf8')
  if (!before.includes(anchor)) throw new Error(`${file} has no "${anchor}": update the recipe in test/repo/recipes.ts`)
  await writeFile(
    path,
    before.replace(anchor, () => `${anchor}${text}`),
  )
}

/** What the copy prints: all of it in one process, whose start takes most of the time. */
const print = async () => {
  const script = `import { runOpenapi } from './src/compose/api.ts'
    import { decodeLog } from './src/protocol/abi/logs.ts'
    import { createFold } from './src/protocol/history/fold.ts'
    import { rulesOf } from './src/protocol/history/rules.ts'
    import { conditionsOf } from './src/db/queries/filters.ts'
    import { auditedColumns } from './src/db/index/audit/columns.ts'
    import { entityCalls } from './src/protocol/entities.ts'
    import { actions } from './src/plans/actions/table.ts'
    import { summaryOf } from './src/plans/answer/summary.ts'
    import { actionStep } from './src/plans/steps/step.ts'
    import { builders, extensions } from './test/vectors/specification.ts'
    import { toEventSelector } from 'viem'
    import Fastify from 'fastify'
    import { metrics as measured } from './src/api/plugins/metrics.ts'
    import { programs } from './src/compose/commands/commands.ts'
    import { webhookTypes } from './src/db/schema/webhooks.ts'
    import { createMetrics } from './src/lib/observe/metrics.ts'
    await runOpenapi({ check: false })
    const topics = [toEventSelector('OracleAdded(address)'), '0x' + '00'.repeat(32)]
    const log = { topics, data: '0x', blockNumber: 1n, blockHash: '0x', transactionHash: '0x', logIndex: 0 }
    const { event_observations: event, deposit_observations: deposit } = auditedColumns
    const specified = [...Object.keys(builders), ...extensions.map((route) => route.split(' ')[1])]
    const body = { chainId: 8453, from: '0x' + '01'.repeat(20) }
    const { transaction } = actionStep('pause', actions['example-pause'], body, { diamond: '0x' + '02'.repeat(20) })
    const planned = summaryOf([transaction], { main: null, tokenAt: () => undefined, event: null, total: null, signBefore: null })
    const found = [decodeLog(log)?.subject, event.exampleTotal, deposit.exampleBonus]
    const metrics = createMetrics()
    const waits = { counts: () => ({ open: 0, refused: 3 }) }
    await Fastify().register(measured, { metrics, waits, access() {}, streams: [], limit: null, refused: {} })
    const metric = await metrics.getSingleMetricAsString('fx_example_refused_total')
    const terms = { strike: 2n, payoutCap: 3n, initialRate: 1n, strikeAbove: true, expiryDate: 9n, creatorLoyaltyRate: 0n }
    const past = createFold({ ...terms, allowExternalLp: true }, rulesOf.reference[0]).event(1n)
    const filter = conditionsOf('event', { exampleOpenToOthers: true }, [], String)
    const selected = [String(past.exampleTotal), ...filter]
    const described = [...found, entityCalls('deposit').exampleBonus(7n).name, planned, specified]
    const served = [metric, webhookTypes, programs['webhooks add'].flags.types.summary]
    console.log(JSON.stringify({ described, served, selected }))`
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: copy,
  })
  return JSON.parse(stdout)
}
let printed: Awaited<ReturnType<typeof print>>

/** The files in the first table below a heading of CONTRIBUTING.md; a new file is named like the example. */
const documented = (guide: string, heading: string): string[] => {
  const [, section = ''] = guide.split(`\n### ${heading}\n`)
  const [own = ''] = section.split('\n#')
  return [...own.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, file = '']) => file.replace('<name>', 'example-pause'))
}

test.each(Object.entries(recipes))('the recipe "%s" lists the files that a change touches', async (heading, edits) => {
  const guide = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect([...guide.matchAll(/^### (.+)$/gm)].map(([, found]) => found)).toContain(heading)
  expect(documented(guide, heading).sort()).toEqual([...new Set(edits.map(({ file }) => file))].sort())
})

test('a copy that follows every recipe describes and decodes what they add', async () => {
  const { paths, components } = JSON.parse(await readFile(join(copy, 'docs/openapi.json'), 'utf8'))
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining([
      '/v1/tx/hedge/example-pause',
      '/v1/plans/example-pause',
      '/v1/hedge/example-fees-initialized/{chainId}',
      '/v1/hedge/events/{chainId}/{id}/example-token',
    ]),
  )
  expect(components.schemas.EventStats.properties).toHaveProperty('exampleTotal')
  expect(components.schemas.Deposit.properties).toHaveProperty('exampleBonus')
  expect(paths['/v1/plans/example-pause'].post).toMatchObject({
    summary: 'Plan to pause, as an example',
    description: expect.stringMatching(/^Pauses the protocol, as an example. The transactions are simulated /),
  })
  const [subject, total, bonus, view, planned, specified] = printed.described
  expect([subject, total, bonus, view, planned]).toEqual([
    ...['chain', 'view', 'view', 'getExampleBonus', 'Pause the protocol.'],
  ])
  const described = Object.keys(paths).map((path) => path.replace('/v1', ''))
  expect(specified.filter((path: string) => !described.includes(path))).toEqual([])
  expect(specified.filter((path: string) => path.includes('example'))).toHaveLength(4)
})

test('a copy that follows every recipe has the new column in the past, and the new filter in lists', async () => {
  const { paths } = JSON.parse(await readFile(join(copy, 'docs/openapi.json'), 'utf8'))
  const names = paths['/v1/hedge/events'].get.parameters.map(({ name }: { name: string }) => name)
  expect(names).toContain('exampleOpenToOthers')
  expect(printed.selected).toEqual(['0', 'e.allow_external_lp = true'])
})

test('a copy that follows every recipe serves the new metric, and can subscribe to the new type of webhook', async () => {
  const [metric, types, help] = printed.served
  expect(metric).toContain('fx_example_refused_total 3')
  expect(types).toContain('example.changed')
  expect(help.split(';')[0].split(', ')).toEqual(types)
})

test.runIf(inject('form') === 'long')(
  'a copy that follows every recipe has no type error, and one without a part of an action names it',
  async () => {
    const config = { extends: './tsconfig.json', include: ['src'] }
    await writeFile(join(copy, 'tsconfig.src.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript-7/bin/tsc')
    const compile = () => run(process.execPath, [tsc, '--singleThreaded', '-p', 'tsconfig.src.json'], { cwd: copy })
    await expect(compile()).resolves.toBeDefined()
    const definition = join(copy, 'src/plans/actions/example-pause.ts')
    const text = await readFile(definition, 'utf8')
    await writeFile(definition, text.replace(/ {2}description: .*\n/, ''))
    const stdout = expect.stringMatching(/example-pause\.ts.*\n.*'description' is missing/)
    await expect(compile()).rejects.toMatchObject({ stdout })
  },
  240_000,
)
