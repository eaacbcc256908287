import { writeFile } from 'node:fs/promises'
import { OperatorError } from '../../src/lib/errors.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { buildImage, docker, endPrograms, openEngine, progress, removeProject, run } from './engine.ts'
import { makeFolder } from './folder.ts'
import { openChains, openReceiver } from './outside.ts'
import { reportOf } from './report.ts'
import { openService } from './service.ts'
import { checkPorts, kills, partitions, rebuild, restore, start, upgrade } from './steps.ts'

/*
 * Runs docker-compose.yml on the Docker engine of this machine: start, upgrade, kills, partitions, rebuild, backup and
 * restore, under requests. Writes docs/operations/deployment-report.md, and removes everything else at the end but the
 * engine's build cache. Takes half an hour; needs root.
 *
 *   npm run deployment             STAND_IN_IMAGES=1: base images from Debian's packages where no registry is in reach
 */

const REPORT = 'docs/operations/deployment-report.md'

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await work()
  return Math.round((performance.now() - began) / 1_000)
}

const main = async (): Promise<void> => {
  const began = performance.now()
  const closers = createClosers()
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stopped.abort(new OperatorError(signal)))
  try {
    const work = async (): Promise<void> => {
      const engine = await openEngine()
      closers.add('the stand-in images', engine.made, async (made) => {
        if (made.length > 0) await docker('image', 'rm', ...made)
      })
      const project = `fx-deployment-${process.pid}`
      const commit = await run('git', ['rev-parse', '--short=12', 'HEAD'])
      const releases = [
        { tag: `${project}-1`, commit },
        { tag: `${project}-2`, commit: `${commit}-next` },
      ] as const
      const [first, next] = releases
      closers.add('the images', releases, async (all) => {
        for (const { tag } of all) await docker('image', 'rm', `fx-protection-api:${tag}`).catch(() => {})
      })
      progress('builds the image')
      const buildSeconds = await seconds(() => buildImage(first.tag, first.commit))
      await buildImage(next.tag, next.commit)

      const chains = await openChains(closers, engine.gateway)
      const receiver = await openReceiver(closers, engine.gateway)
      const { gateway } = engine
      const folder = await makeFolder({ gateway, receiverPort: receiver.port, chains: chains.variables })
      closers.add('the folder', folder, ({ remove }) => remove())
      closers.add('the containers', project, removeProject)
      const service = openService({ folder, project, chains, receiver })
      closers.add('the requests', service, ({ stop }) => stop())
      service.setVersion(first.tag)
      const startSeconds = await start(service, receiver)
      await checkPorts(folder)
      progress(`alarms: ${(await service.alarms()).join('; ') || 'none'}`)
      const versions = [
        `Node ${await service.compose('exec', '-T', 'worker', 'node', '--version')}`,
        await service.compose('exec', '-T', 'postgres', 'postgres', '--version'),
        (await service.compose('exec', '-T', 'redis', 'redis-server', '--version')).split(' sha=')[0] ?? '',
      ]
      chains.startActivity(1)
      service.startRequests()
      const steps = [
        await upgrade(service, next.tag, next.commit),
        ...(await kills(service)),
        ...(await partitions(service)),
      ]
      const compared = [
        await rebuild(service, chains, receiver, 'fx_next'),
        await restore(service, chains, receiver),
        await rebuild(service, chains, receiver, 'fx_third'),
      ]
      const minutes = Math.round((performance.now() - began) / 60_000)
      const date = new Date().toISOString().slice(0, 10)
      const report = reportOf({
        ...{ engine, date, versions, buildSeconds, startSeconds, steps, compared, minutes },
        messages: receiver.counts(),
      })
      await writeFile(REPORT, report)
      console.log(report)
      const faults = [
        ...steps
          .slice(0, 1)
          .filter(({ failed }) => failed > 0)
          .map(({ name, failed }) => `${name}: ${failed} requests failed`),
        ...compared.filter(({ lost }) => lost > 0).map(({ name, lost }) => `${name}: ${lost} rows are lost`),
        ...compared
          .slice(0, 1)
          .filter(({ copies }) => copies > 0)
          .map(({ copies }) => `rebuild: ${copies} messages were sent twice`),
      ]
      if (faults.length > 0) throw new Error(faults.join('\n'))
    }
    const aborted = new Promise<never>((_, reject) => {
      stopped.signal.addEventListener('abort', () => reject(stopped.signal.reason), { once: true })
    })
    await Promise.race([work(), aborted])
  } finally {
    endPrograms()
    await closers.close()
  }
}

await main().catch((fault: unknown) => {
  console.error(fault instanceof OperatorError ? fault.message : fault)
  process.exitCode = 1
})
// A step may still run after a signal.
process.exit()
