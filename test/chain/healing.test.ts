import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createNode } from '../../src/chain/pool/failover.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { getBlock, getChainId } from '../../src/chain/rpc/requests.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'
import { startScriptedNode } from '../support/scripted-node.ts'
import { ranMs } from '../support/stopwatch.ts'

const open: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const startNode = async () => {
  const node = await startScriptedNode()
  open.push(node.close)
  return node
}

const nodeOf = (urls: readonly string[], timeoutMs = 3_000) => {
  const registry = createEndpointRegistry({ chainId: 8453, urls, timeoutMs, log: pino({ level: 'silent' }) })
  open.push(registry.close)
  return { ...registry, ...createNode({ registry, chainId: 8453, timeoutMs }) }
}

type Sending = Pick<ReturnType<typeof nodeOf>, 'send'>

const isUp = (node: Sending): Promise<boolean> =>
  node.send({ id: getChainId() }).then(
    () => true,
    () => false,
  )

/** The time until a caller that keeps retrying gets an answer, in milliseconds. */
const untilAnswered = async (node: Sending): Promise<number> => {
  const start = ranMs()
  await eventually('it is answered', () => isUp(node))
  return ranMs() - start
}

test('the only node is used again within four seconds of its recovery, at any moment of its pause', {
  timeout: 20_000,
}, async () => {
  const heal = async (afterMs: number): Promise<number> => {
    const node = await startNode()
    const chain = nodeOf([node.url])
    await chain.send({ id: getChainId() })
    node.say(() => 'hang')
    let hangs = true
    const readers = [0, 1].map(async () => {
      while (hangs) {
        await isUp(chain)
        await sleep(25)
      }
    })
    await sleep(afterMs)
    expect(chain.status().endpoints[0]?.rank).toBe('paused')
    node.heal()
    hangs = false
    const [took] = await Promise.all([untilAnswered(chain), ...readers])
    return took
  }
  // In the long form its pauses have the maximum length by then, with a probe of one second between them.
  const moments = byForm([2_600, 3_300], [7_500, 8_100, 8_700, 9_300, 9_900, 10_500])
  const took = await Promise.all(moments.map(heal))
  expect(Math.max(...took)).toBeLessThan(4_000)
})

test('a node that served another chain is asked again five seconds after that, and used once it is corrected', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const [first, second] = [await startNode(), await startNode()]
  first.chainId = 1
  const chain = nodeOf([first.url, second.url])
  const by = async (): Promise<number> => (await chain.sendBy({ head: getBlock('latest') })).endpoint
  expect(await by()).toBe(1)
  expect(chain.status().endpoints[0]?.rank).toBe('wrong chain')
  first.chainId = 8453
  vi.advanceTimersByTime(4_999)
  for (let times = 0; times < 5; times += 1) expect(await by()).toBe(1)
  expect(chain.status().endpoints[0]?.rank).toBe('wrong chain')
  vi.advanceTimersByTime(1)
  await eventually('it is asked again', async () => (await by()) === 0)
})

/**
 * A proxy in front of a node. Connections that exist while it is cut stay silent forever, like those that a load
 * balancer has dropped from its table.
 */
const startWire = async (port: number) => {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    sockets.add(near)
    near.on('error', () => {})
    if (isCut) return
    const far = connect(port, '127.0.0.1')
    sockets.add(far)
    far.on('error', () => {})
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  open.push(async () => {
    for (const each of sockets) each.destroy()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut(): void {
      isCut = true
      for (const each of sockets) each.unpipe().pause()
    },
    mend(): void {
      isCut = false
    },
  }
}

test('no reader uses a connection that died while the node was unreachable', async () => {
  const node = await startNode()
  const wire = await startWire(Number(new URL(node.url).port))
  const chain = nodeOf([wire.url], 1_200)
  const readers = (length: number): Promise<boolean[]> => Promise.all(Array.from({ length }, () => isUp(chain)))
  await eventually('eight connections are open', async () => !(await readers(8)).includes(false))
  wire.cut()
  await eventually('it is out of rotation', async () => {
    await readers(2)
    return chain.status().endpoints[0]?.rank === 'paused'
  })
  wire.mend()
  expect(await untilAnswered(chain)).toBeLessThan(4_000)
  expect(await readers(8)).not.toContain(false)
})
