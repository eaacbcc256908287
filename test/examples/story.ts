import { pino } from 'pino'
import { encodeFunctionData, type Hex, keccak256, toHex } from 'viem'
import { vi } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { createChain } from '../../src/chain/chain.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { startEngine } from '../support/engine.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { indexAll } from '../support/index-all.ts'
import { mountedBy } from '../support/mounted.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { receiptOf } from '../support/receipt.ts'
import { people, type StoryChain, startStoryChain, tellBase, tellBnb } from './chain.ts'
import { DAY, NOW } from './clock.ts'
import { addIntegrator } from './endpoint.ts'

const log = pino({ level: 'silent' })
const user = { sub: 'user-1', email: 'user@bank.example', phone_number: '+233201234567', external_id: 'external-1' }

/** A purchase in event 3 of Base, signed by the hedger. */
const signPurchase = async ({ actions, units, deployment }: StoryChain): Promise<Hex> => {
  const { account } = people.hedger
  const purchase = [3n, units(10_000), units(240), BigInt(NOW + DAY)] as const
  return account.signTransaction({
    ...{ chainId: deployment.chainId, type: 'eip1559', to: deployment.diamond, gas: 600_000n },
    ...{ maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
    nonce: await actions.client.getTransactionCount({ address: account.address }),
    data: encodeFunctionData({ abi: protocolAbi, functionName: 'buyProtection', args: purchase }),
  })
}

/**
 * The system that every example is recorded from: both chains with their past, the index, the pricing engine, an identity
 * provider and the API, at one fixed time. Its purchase has been broadcast, and `broadcast` is that answer.
 */
export const startStory = async () => {
  const closers = createClosers()
  const clock = vi.spyOn(Date, 'now').mockReturnValue(NOW * 1_000)
  closers.add('clock', clock, (it) => it.mockRestore())
  const start = async (chainId: number): Promise<StoryChain> =>
    closers.add(`chain ${chainId}`, await startStoryChain(chainId), (it) => it.close())
  const [base, bnb] = await Promise.all([start(8453), start(56)])
  const chains = [base, bnb]
  const [ids] = await Promise.all([tellBase(base), tellBnb(bnb)])
  const nodes = chains.map(({ anvil, deployment }) => ({ url: anvil.url, deployment }))

  const signedTx = await signPurchase(base)
  await base.at(NOW - 12)
  const sender = await openApp({ nodes })
  const purchase = { chainId: 8453, signedTx }
  const broadcast = await sender.app.inject({ method: 'POST', url: '/v1/tx/broadcast', payload: purchase })
  await sender.close()
  const hash = keccak256(signedTx)
  await receiptOf(base.actions.client, hash)
  for (const { actions, at } of chains) {
    await at(NOW)
    await actions.node.mine({ blocks: 1 })
  }

  const store = closers.add('store', await createTestDatabase(), (it) => it.close())
  const database = closers.add('database', openDatabase(store.url, { maxConnections: 8, log }), (it) => it.close())
  const heartbeats: (() => Promise<void>)[] = []
  for (const { deployment, anvil } of chains) {
    const options = { deployment, rpcUrls: [anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1, log }
    const chain = closers.add('chain', createChain(options), (it) => it.close())
    await indexAll({ chain, database })
    const head = await chain.head()
    const report = { head, proven: head, isQuiet: false, source: 'logs', problem: null, nodes: chain.status() } as const
    heartbeats.push(() => database.run((handle) => saveHeartbeat(handle, deployment.chainId, report)))
  }

  const provider = closers.add(
    'identity provider',
    await startIdentityProvider([{ ...user, address: people.hedger.account.address }]),
    (it) => it.close(),
  )
  let nonces = 0
  const engineOptions = {
    key: people.engine.privateKey,
    deployments: nodes.map(({ deployment: { chainId, diamond } }) => ({
      ...{ chainId, diamond },
      headTime: async () => BigInt(NOW),
    })),
    makeNonce() {
      nonces += 1
      return keccak256(toHex(nonces))
    },
    now: () => NOW * 1_000,
  }
  const engine = closers.add('engine', await startEngine(engineOptions), (it) => it.close())
  const identity = { userinfoUrl: provider.userinfoUrl }
  const { apiKey, vault } = await addIntegrator(database)
  const selfService = { vault, now: () => Date.now() }
  const opened: Awaited<ReturnType<typeof openApp>>[] = []
  const routes = await mountedBy(async () => {
    const options = { databaseUrl: store.url, nodes, headMaxAgeMs: -1, engineUrl: engine.url, identity, selfService }
    opened.push(closers.add('api', await openApp(options), (it) => it.close()))
  })
  const [api] = opened
  if (api === undefined) throw new Error('the API is not open')
  const { app, sources, checks } = api
  /** Reports that the index is current. */
  const beat = async (): Promise<void> => {
    for (const save of heartbeats) await save()
  }
  await beat()
  await checks.runAll()
  await eventually('the API knows the index', () => sources.changes.isCurrent([8453, 56]))
  return {
    ...{ app, routes, base, bnb, ids, purchase, hash, database, nodes },
    ...{ databaseUrl: store.url, beat },
    broadcast: { statusCode: broadcast.statusCode, payload: broadcast.payload },
    /** The key of an integrator. */
    apiKey,
    /** The header of the user's requests. */
    authorization: `Bearer ${await provider.signIn(user.sub)}`,
    close: closers.close,
  }
}

export type Story = Awaited<ReturnType<typeof startStory>>
