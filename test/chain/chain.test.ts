import { pino } from 'pino'
import { encodeFunctionData, type Hex, numberToHex } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { createChain } from '../../src/chain/chain.ts'
import { NodeError, toServiceError } from '../../src/chain/rpc/errors.ts'
import { type Block, getChainId } from '../../src/chain/rpc/requests.ts'
import { fakeDeployment } from '../support/fake-chain.ts'
import { eventually } from '../support/process.ts'
import { type ScriptedCall, startNode } from '../support/scripted-node.ts'

const deployment = { ...fakeDeployment(8453), usdc: `0x${'ac'.repeat(20)}` as const }
const missing = () => toServiceError(new NodeError({ code: -32_000, message: 'header not found' }))

const open = async (options: { readonly headMaxAgeMs?: number } = {}) => {
  const node = await startNode()
  const held: ScriptedCall[] = []
  let release = (): void => {}
  const released = new Promise<null>((resolve) => {
    release = () => resolve(null)
  })
  let holds: readonly string[] = []
  node.say((calls) => {
    const some = calls.filter(({ method }) => holds.includes(method))
    held.push(...some)
    return some.length > 0 ? released : null
  })
  const chain = createChain({
    ...{ deployment, rpcUrls: [node.url], timeoutMs: 60_000, log: pino({ level: 'silent' }) },
    ...{ headMaxAgeMs: 60_000, ...options },
  })
  onTestFinished(async () => {
    release()
    await chain.close()
  })
  await chain.head()
  node.requests()
  return {
    ...{ chain, node, held },
    /** Leaves calls of these methods unanswered. */
    hold: (...methods: readonly string[]) => {
      holds = methods
    },
    methods: () => node.requests().flatMap((calls) => calls.map(({ method }) => method)),
  }
}

describe('a pinned read', () => {
  const reading = async (results: (Error | string)[], onRead: (nth: number) => void = () => {}) => {
    const { chain, node, methods } = await open()
    const blocks: Block[] = []
    const read = async (block: Block): Promise<string> => {
      blocks.push(block)
      onRead(blocks.length)
      if (blocks.length === 1) node.height += 1
      const result = results[blocks.length - 1] ?? expect.unreachable()
      if (typeof result !== 'string') throw result
      return result
    }
    return { chain, node, methods, read, heights: () => blocks.map(({ number }) => Number(number) - 1_000_000) }
  }

  test('is of the known head, if that is recent', async () => {
    const { chain, read, heights, methods } = await reading(['a', 'b'])
    expect([await chain.pinned(read), await chain.pinned(read)]).toEqual(['a', 'b'])
    expect([heights(), methods()]).toEqual([[0, 0], []])
  })

  test('is of a new one, if that is wanted', async () => {
    const { chain, read, heights, methods, node } = await reading(['a', 'b'])
    node.height += 5
    await chain.pinned(read, { isFresh: false })
    await chain.pinned(read, { isFresh: true })
    expect([heights(), methods()]).toEqual([[0, 6], ['eth_getBlockByNumber']])
  })

  test('is repeated at a new head when no node has the block', async () => {
    const { chain, read, heights } = await reading([missing(), 'b'])
    expect(await chain.pinned(read)).toBe('b')
    expect(heights()).toEqual([0, 1])
    expect((await chain.head()).number).toBe(1_000_001n)
  })

  test('is repeated once, and no reader gets the second block either', async () => {
    const [first, second] = [missing(), missing()]
    const { chain, read, heights, methods } = await reading([first, second])
    await expect(chain.pinned(read)).rejects.toBe(second)
    expect([heights(), methods()]).toEqual([[0, 1], ['eth_getBlockByNumber']])
    await chain.head()
    expect(methods()).toEqual(['eth_getBlockByNumber'])
  })

  test('keeps the second block when it fails there for another reason', async () => {
    const error = new Error('another')
    const { chain, read, methods } = await reading([missing(), error])
    await expect(chain.pinned(read)).rejects.toBe(error)
    methods()
    await chain.head()
    expect(methods()).toEqual([])
  })

  test('is not repeated at the same block', async () => {
    const error = missing()
    const { chain, node, read, heights } = await reading([error], () => {
      node.height -= 1
    })
    await expect(chain.pinned(read)).rejects.toBe(error)
    expect(heights()).toEqual([0])
  })

  test('is not repeated after another error', async () => {
    const error = new Error('another')
    const { chain, read, heights, methods } = await reading([error])
    await expect(chain.pinned(read)).rejects.toBe(error)
    await chain.head()
    expect([heights(), methods()]).toEqual([[0], []])
  })
})

const from: Hex = `0x${'f1'.repeat(20)}`
const token: Hex = `0x${'ab'.repeat(20)}`
const ofProtocol = encodeFunctionData({ abi: protocolAbi, functionName: 'isPaused' })
/** A call of the protocol that may call the address that it names. */
const naming = `${ofProtocol}${token.slice(2).padStart(64, '0')}` as const
const own = { from, to: deployment.diamond, data: ofProtocol }
const foreign = { from, to: token, data: '0x12345678' as const }
const never = () => new Promise<never>(() => {})
const caller = (nth: number, disconnected = new AbortController().signal) => ({
  address: `caller ${nth}`,
  disconnected,
})

/** Starts work until it is refused, and returns how much was accepted and why no more was. */
const fill = async (start: (nth: number) => Promise<unknown>, most: number) => {
  let refused: unknown = null
  let accepted = 0
  while (refused === null && accepted <= most) {
    const result = start(accepted).then(
      () => null,
      (error: unknown) => {
        refused ??= error
      },
    )
    await Promise.race([result, new Promise((done) => void setImmediate(done))])
    if (refused === null) accepted += 1
  }
  return { accepted, refused }
}

describe('at once, and waiting,', () => {
  const refusal = (work: string) => ({
    ...{ code: 'service_unavailable', message: `too many ${work} for chain 8453 at once: retry after 1 s` },
    retryAfter: 1,
  })
  test('are four and 32 calls of foreign code', async () => {
    const { chain } = await open()
    let running = 0
    const run = () => {
      running += 1
      return never()
    }
    expect(await fill(() => chain.runForeign(run), 99)).toMatchObject({
      ...{ accepted: 36, refused: refusal('calls of contracts that are not configured') },
    })
    expect(running).toBe(4)
    // Reads of what is configured have another budget.
    expect(await chain.runReplay(async () => 'done', 'a')).toBe('done')
  })

  test('are one and 16 transactions that run again', async () => {
    const { chain } = await open()
    let running = 0
    const run = () => {
      running += 1
      return never()
    }
    expect(await fill((nth) => chain.runReplay(run, `${nth}`), 99)).toMatchObject({
      ...{ accepted: 17, refused: refusal('reverted transactions') },
    })
    expect(running).toBe(1)
    expect(await chain.runForeign(async () => 'done')).toBe('done')
  })

  test('are eight and 64 broadcasts', async () => {
    const { chain, hold, held } = await open()
    hold('eth_sendRawTransaction')
    expect(await fill((nth) => chain.broadcast({ bytes: numberToHex(nth), hash: '0x' }), 99)).toMatchObject({
      ...{ accepted: 72, refused: refusal('broadcasts') },
    })
    await eventually('they are sent', () => held.length === 8)
  })

  test('are two and a thousand reads of balances, one of each caller', async () => {
    const { chain, hold, held, node } = await open()
    hold('eth_call')
    const { hash } = await chain.head()
    const holdings = [{ wallet: from, tokens: [token] }]
    const read = (nth: number) => chain.balances({ hash }, holdings, caller(nth))
    void read(0).catch(() => {})
    void read(0).catch(() => {})
    await eventually('the first is sent', () => held.length === 1)
    const { accepted, refused } = await fill((nth) => read(nth + 1), 1_200)
    expect({ accepted, refused }).toMatchObject({ accepted: 1_000, refused: refusal('reads of balances') })
    await eventually('the second is sent', () => held.length === 2)
    expect(JSON.stringify(node.requests().flat().at(-1)?.params)).toContain(deployment.diamond.slice(2).toLowerCase())
  })

  test('are eight simulations, and calls of foreign code are none of them', async () => {
    const { chain, hold, held } = await open()
    await fill(() => chain.runForeign(never), 99)
    hold('eth_estimateGas', 'eth_call')
    expect(await chain.simulate(foreign)).toEqual({ status: 'unavailable' })
    expect(await chain.simulate({ ...own, data: naming })).toEqual({ status: 'unavailable' })
    const signed = {
      hash: numberToHex(1, { size: 32 }),
      from,
      to: own.to,
      input: own.data,
      value: 0n,
      gas: 1n,
      nonce: 0,
    }
    for (const call of [{ to: null }, { to: token }, { input: naming }])
      expect(await chain.simulateSigned({ ...signed, ...call } as never)).toBeNull()
    expect(held).toEqual([])
    for (let nth = 0; nth < 9; nth += 1) void chain.simulate(own)
    await eventually('they are sent', () => held.length === 8)
    void chain.simulateSigned(signed as never)
    await new Promise((done) => void setTimeout(done, 20))
    expect(held.map(({ method }) => method)).toEqual(Array(8).fill('eth_estimateGas'))
  })
})

test('a simulation of foreign code has little gas, one that names an address more, and another as much as it takes', async () => {
  const { chain, node } = await open()
  for (const tx of [foreign, { ...own, data: naming }, own]) await chain.simulate(tx)
  const gas = node
    .requests()
    .flat()
    .filter(({ method }) => method === 'eth_estimateGas')
    .map(({ params: [tx] }) => (tx as { readonly gas?: Hex }).gas)
  expect(gas).toEqual([numberToHex(300_000), numberToHex(10_000_000), undefined])
})

describe('a caller', () => {
  test('has half of a budget, so that another one has its turn', async () => {
    const { chain } = await open()
    const running: number[] = []
    const start = (nth: number) =>
      void chain.runForeign(() => {
        running.push(nth)
        return never()
      }, caller(nth))
    for (const nth of [1, 1, 1, 2, 2]) start(nth)
    await new Promise((done) => void setImmediate(done))
    expect(running).toEqual([1, 1, 2, 2])
  })

  test('that has left starts nothing, and one that leaves while its work waits neither', async () => {
    const { chain, methods } = await open()
    const gone = caller(1, AbortSignal.abort(new Error('it left')))
    await expect(chain.runForeign(never, gone)).rejects.toThrow('it left')
    await expect(chain.broadcast({ bytes: '0x12', hash: '0x' }, gone)).rejects.toThrow('it left')
    await expect(chain.balances(await chain.head(), [], gone)).rejects.toThrow('it left')
    expect(await chain.simulate(own, gone)).toEqual({ status: 'unavailable' })
    expect(methods()).toEqual([])
    const leaving = new AbortController()
    for (const nth of [1, 2, 3, 4]) void chain.runForeign(never, caller(nth))
    const waiting = chain.runForeign(never, caller(5, leaving.signal))
    leaving.abort(new Error('it leaves'))
    await expect(waiting).rejects.toThrow('it leaves')
  })
})

test('the chain is what it was configured with, and has the state of its nodes', async () => {
  const { chain } = await open()
  expect(chain).toMatchObject({ chainId: 8453, deployment, timeoutMs: 60_000 })
  expect(chain.logWidth()).toBe(100n)
  expect((await chain.logs({ from: 1n, upTo: 9n })).last.number).toBe(9n)
  expect(await chain.queryAllEndpoints({ id: getChainId() })).toMatchObject([
    { endpoint: 0, outcomes: { id: { value: 8453 } } },
  ])
  chain.reportMissingLogs(0, 'another')
  expect(chain.status().endpoints).toMatchObject([{ rank: 'incomplete logs', penalty: 'another' }])
  chain.penalize(0, 'a reason')
  expect(chain.status().endpoints).toMatchObject([{ rank: 'penalized', penalty: 'a reason' }])
})
