import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Closers } from '../../src/lib/lifecycle.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { chainVariables, deployOn } from '../../src/sandbox/chain.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createActions } from '../../src/sandbox/story/actions.ts'
import { runActivity } from '../../src/sandbox/story/activity.ts'
import { SCENARIO_DAYS } from '../../src/sandbox/story/scenario.ts'
import { seedScenario } from '../../src/sandbox/story/seed.ts'
import { chainIds, factsOf } from '../support/known-chains.ts'
import { progress } from './engine.ts'

/* What the containers reach on this machine: nodes of two chains, and a receiver of webhooks. */

const BLOCK_SECONDS = 2
const ACTION_MS = 3_000

const listen = async (server: Server, host: string): Promise<number> => {
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Passes connections to the bridge's address on to a port of loopback. Resolves to its port. */
const openPassage = async (closers: Closers, host: string, target: number): Promise<number> => {
  const server = createServer((client) => {
    const connection = connect(target, '127.0.0.1')
    for (const socket of [client, connection]) socket.on('error', () => socket.destroy())
    client.pipe(connection).pipe(client)
  })
  closers.add('a passage', server, () => server.close())
  return listen(server, host)
}

/** Starts the nodes of both chains with the protocol and a generated history. */
export const openChains = async (closers: Closers, gateway: string) => {
  const accounts = createAccounts()
  const open = async (chainId: ChainId) => {
    progress(`chain ${chainId}: node, protocol and history`)
    const genesisTimestamp = Math.floor(Date.now() / 1_000) - SCENARIO_DAYS * 86_400
    const node = await startAnvil({ chainId, blockTime: BLOCK_SECONDS, genesisTimestamp })
    closers.add(`the node of chain ${chainId}`, node, ({ close }) => close())
    const deployed = await deployOn(node.url, { chainId, ...factsOf(chainId) }, accounts)
    const actions = createActions(deployed)
    await seedScenario({ actions, accounts, seed: chainId })
    const url = `http://${gateway}:${await openPassage(closers, gateway, Number(new URL(node.url).port))}`
    return { actions, variables: chainVariables({ ...deployed, rpcUrl: url }) }
  }
  const chains = await Promise.all(chainIds.map(open))
  let activity: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined
  const stopActivity = async (): Promise<void> => {
    activity?.stop.abort()
    await activity?.ended
    activity = undefined
  }
  closers.add('the activity', stopActivity, (stop) => stop())
  return {
    variables: Object.assign({}, ...chains.map(({ variables }) => variables)) as Record<string, string>,
    wallet: accounts.extras[0]?.account.address ?? '',
    /** The newest block of each chain. */
    heads: async (): Promise<ReadonlyMap<number, number>> =>
      new Map(
        await Promise.all(
          chains.map(async ({ actions: { chain, client } }): Promise<[number, number]> => {
            return [chain.chainId, Number(await client.getBlockNumber({ cacheTime: 0 }))]
          }),
        ),
      ),
    /** Transactions on both chains every few seconds, until `stopActivity`. */
    startActivity(seed: number): void {
      const stop = new AbortController()
      const all = chains.map(({ actions }) => actions)
      const options = { chains: all, accounts, seed, intervalMs: ACTION_MS, signal: stop.signal, log: () => {} }
      activity = { stop, ended: runActivity(options) }
    },
    stopActivity,
  }
}

export type Chains = Awaited<ReturnType<typeof openChains>>

/** A receiver of webhooks on the bridge's address. It answers 204, or 400 for a signature of another secret. */
export const openReceiver = async (closers: Closers, gateway: string) => {
  /** By the path of the endpoint. */
  const secrets = new Map<string, string>()
  const received = new Map<string, number>()
  let [newest, refused] = [0, 0]
  const server = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const path = request.url ?? ''
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    try {
      const message = new Webhook(secrets.get(path) ?? '').verify(Buffer.concat(chunks).toString(), headers)
      newest = Math.max(newest, Date.parse((message as { timestamp: string }).timestamp))
      const id = `${path} ${headers['webhook-id']}`
      received.set(id, (received.get(id) ?? 0) + 1)
      response.writeHead(204).end()
    } catch {
      refused += 1
      response.writeHead(400).end()
    }
  })
  closers.add('the receiver', server, () => {
    server.close()
    server.closeAllConnections()
  })
  return {
    port: await listen(server, gateway),
    secrets,
    /** When the newest message was made, in Unix milliseconds. */
    newest: () => newest,
    /** Different messages; further copies of them; messages whose signature was wrong. */
    counts: () => {
      const copies = [...received.values()].reduce((sum, times) => sum + times - 1, 0)
      return { messages: received.size, copies, refused }
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof openReceiver>>
