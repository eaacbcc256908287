import { fork } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'
import { hostileBodies, type Target } from './bodies.ts'
import { openTargets } from './targets.ts'

/*
 * Measures the processor time that each hostile body costs an API, and the length of its answer: tsx
 * test/load/body-times.ts [--top COUNT]. No body blocks the event loop for longer. Another process sends the bodies one
 * at a time; each time is the smallest of three.
 */

const TURNS = 3

const Sent = z.object({ name: z.string(), status: z.number(), bytes: z.number() })

const measure = async (): Promise<void> => {
  const { api, targets } = await openTargets()
  const url = await api.app.listen({ port: 0, host: '127.0.0.1' })
  let start = process.cpuUsage()
  const found = new Map<string, { ms: number; status: number; bytes: number }>()
  const client = fork(new URL(import.meta.url), ['client'])
  client.on('message', (message) => {
    const { name, ...rest } = Sent.parse(message)
    const { user, system } = process.cpuUsage(start)
    const ms = (user + system) / 1_000
    found.set(name, { ...rest, ms: Math.min(ms, found.get(name)?.ms ?? Number.POSITIVE_INFINITY) })
    start = process.cpuUsage()
    client.send('next')
  })
  client.send({ url, targets })
  await once(client, 'exit')
  await api.close()

  const sorted = [...found].sort(([, a], [, b]) => b.ms - a.ms)
  const count = Number(process.argv[process.argv.indexOf('--top') + 1] ?? 20) || 20
  for (const [name, { ms, status, bytes }] of sorted.slice(0, count))
    console.log(`${ms.toFixed(1).padStart(7)} ms  ${status}  ${String(bytes).padStart(6)} bytes  ${name}`)
  const errors = sorted.filter(([, { status }]) => status >= 400).map(([, { bytes }]) => bytes)
  console.log(`${sorted.length} bodies; longest error ${Math.max(...errors)} bytes`)
}

const send = async ({ url, targets }: { readonly url: string; readonly targets: readonly Target[] }): Promise<void> => {
  const bodies = targets.flatMap(hostileBodies)
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const { name, route, body } of bodies) {
      const text = body()
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}${route}`, { method: 'POST', headers, body: text })
      const { byteLength } = await answer.arrayBuffer()
      const measured = once(process, 'message')
      process.send?.({ name: `${route}  ${name}`, status: answer.status, bytes: byteLength })
      await measured
    }
  }
  process.disconnect()
}

const Asked = z.object({ url: z.string(), targets: z.array(z.custom<Target>()) })
if (process.argv[2] === 'client') await send(Asked.parse((await once(process, 'message'))[0]))
else await measure()
