import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { encodeFunctionData, type Hex, keccak256, maxUint256, toEventSelector, toFunctionSelector } from 'viem'
import { z } from 'zod'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { type Chains, openIndex } from '../rig.ts'
import { hex } from '../rpc.ts'
import { startApi } from '../service.ts'
import { type Failure, seconds, type Target } from '../target.ts'
import { defaultPolls } from './tip-nodes.ts'

/** Idle polls are 2 s apart, and what changed is read at most once a second. */
const WITHIN_MS = 5_000
const WAIT_MS = 10_000
const IDLE_AFTER_MS = 1_000
/** The audit compares rows with the chain every 30 s. Its alarm would blame a node. */
const AUDIT_WITHIN_MS = 45_000
const PATIENCE_MS = 60_000

const TERM_SECONDS = 90
const PRICE = 1_000_000n
const AMOUNT = 500_000_000n
const WALLETS = 6

/** Alarms that ask for another node, or to find the one that is at fault. */
const BLAMES = /add a node|find the node|left/

const Row = z.object({ id: z.int(), premiumsClaimed: z.string(), withdrawn: z.boolean() })
const Rows = z.object({ data: z.array(Row) })
const Log = z.object({ topics: z.array(z.string()) })
const Chain = z.object({
  chainId: z.int(),
  alarms: z.array(z.string()),
  audit: z.object({ at: z.int() }).nullable(),
})
const Status = z.object({ data: z.object({ chains: z.array(Chain) }) })
const Transaction = z.object({ data: z.object({ createdIncomplete: z.boolean(), unknownLogs: z.array(z.unknown()) }) })

const selectorOf = (name: string): Hex =>
  protocolAbi.flatMap((item) => (item.type === 'function' && item.name === name ? toFunctionSelector(item) : []))[0] ??
  '0x'

const topicsOf = (names: readonly string[]): Hex[] =>
  protocolAbi.flatMap((item) => (item.type === 'event' && names.includes(item.name) ? toEventSelector(item) : []))

/** Calls of a chain that only the target mines. */
const openCalls = ({ chain: { diamond }, traffic: { node, mine } }: Chains) => {
  const send = async (from: Hex, data: Hex): Promise<string> => {
    const hash = await node.send('eth_sendTransaction', [{ from, to: diamond, data, gas: hex(2_000_000) }])
    await mine()
    const receipt = z.object({ status: z.string() }).parse(await node.send('eth_getTransactionReceipt', [hash]))
    if (receipt.status !== '0x1') throw new Error(`${hash} reverted`)
    return String(hash)
  }
  return {
    send,
    /**
     * Gives the logs of claims and withdrawals another signature, as an upgrade does. It changes the code of the facet in
     * place, so no log shows it.
     */
    async upgrade(): Promise<void> {
      const args = [selectorOf('claimPremiums')] as const
      const data = encodeFunctionData({ abi: protocolAbi, functionName: 'facetAddress', args })
      const facet = `0x${String(await node.send('eth_call', [{ to: diamond, data }, 'latest'])).slice(-40)}`
      let code = String(await node.send('eth_getCode', [facet, 'latest']))
      for (const topic of topicsOf(['PremiumsClaimed', 'CapitalWithdrawn'])) {
        if (!code.includes(topic.slice(2))) throw new Error('the facet does not have the topic of a log')
        code = code.replaceAll(topic.slice(2), keccak256(topic).slice(2))
      }
      await node.send('anvil_setCode', [facet, code])
    },
  }
}

/** Makes a settled event, in which each wallet has a deposit with unclaimed premiums. Returns the deposits. */
const prepare = async ({ chain, traffic }: Chains, send: ReturnType<typeof openCalls>['send']) => {
  const { node, wallets } = traffic
  const latest = await node.block(await node.blockNumber())
  const event = await traffic.createEvent(BigInt((latest?.timestamp ?? 0) + TERM_SECONDS))
  const encode = (functionName: 'deposit' | 'buyProtection' | 'settleEvent'): Hex => {
    if (functionName === 'deposit') return encodeFunctionData({ abi: protocolAbi, functionName, args: [event, AMOUNT] })
    if (functionName === 'settleEvent')
      return encodeFunctionData({ abi: protocolAbi, functionName, args: [event, PRICE] })
    return encodeFunctionData({ abi: protocolAbi, functionName, args: [event, AMOUNT, maxUint256, maxUint256] })
  }
  const deposits: { readonly wallet: Hex; readonly id: bigint }[] = []
  for (const wallet of wallets.slice(0, WALLETS)) {
    await send(wallet, encode('deposit'))
    const block = hex(await node.blockNumber())
    const filter = { address: chain.diamond, topics: topicsOf(['DepositCreated']), fromBlock: block, toBlock: block }
    const [log] = z.array(Log).parse(await node.send('eth_getLogs', [filter]))
    deposits.push({ wallet, id: BigInt(log?.topics[2] ?? 0) })
  }
  const [buyer] = wallets
  if (buyer !== undefined) await send(buyer, encode('buyProtection'))
  await node.send('evm_increaseTime', [TERM_SECONDS])
  await traffic.mine()
  await send(createAccounts().owner.account.address, encode('settleEvent'))
  return deposits
}

/** What the owner of a deposit does, and how its row shows it. */
const steps = {
  claimPremiums: ({ premiumsClaimed }: z.output<typeof Row>) => premiumsClaimed !== '0',
  withdrawCapital: ({ withdrawn }: z.output<typeof Row>) => withdrawn,
} as const

export const unknownLogs: Target = {
  claim: 'claims and withdrawals whose logs the index does not know, as after an upgrade',
  figure: `in lists in ${WITHIN_MS / 1_000} s, afterTx never confirms one that its answer does not show, no alarm blames a node`,
  async run({ store, chains, seeds: [seed = 1] }) {
    chains.traffic.reseed(seed)
    const { chainId } = chains.chain
    const { send, upgrade } = openCalls(chains)
    const index = await openIndex({ store, chains, seed })
    const client = new Client(index.database.url)
    const failures: Failure[] = []
    const fail = (what: string): void => void failures.push({ seed, what })
    try {
      await client.connect()
      await index.start('worker', 'worker', defaultPolls)
      const deposits = await prepare(chains, send)
      await index.untilExact(await chains.traffic.mine(1), PATIENCE_MS)
      const api = await startApi(index)
      await upgrade()
      const status = async () => {
        const { body } = await api.get('/status')
        const found = Status.parse(JSON.parse(body)).data.chains.find((each) => each.chainId === chainId)
        if (found === undefined) throw new Error(`/status lacks chain ${chainId}`)
        return found
      }
      const alarms = new Set<string>()
      const waited: number[] = []
      const confirmed: number[] = []
      let last = ''
      for (const [functionName, isShown] of Object.entries(steps)) {
        for (const [nth, { wallet, id }] of deposits.entries()) {
          const name = functionName as keyof typeof steps
          const hasWait = nth % 2 === 0
          // After a wait, the index polls fast for a moment.
          if (!hasWait) await sleep(IDLE_AFTER_MS)
          last = await send(wallet, encodeFunctionData({ abi: protocolAbi, functionName: name, args: [id] }))
          const began = performance.now()
          const list = `/v1/hedge/deposits?chainId=${chainId}&wallet=${wallet}&limit=50`
          const isRight = ({ status, body }: { readonly status: number; readonly body: string }): boolean =>
            status === 200 && Rows.parse(JSON.parse(body)).data.some((row) => BigInt(row.id) === id && isShown(row))
          if (hasWait) {
            const answer = await api.get(`${list}&afterTx=${last}&waitMs=${WAIT_MS}`)
            if (answer.status !== 200) fail(`${name} of deposit ${id}: afterTx answers ${answer.status}`)
            else if (!isRight(answer)) fail(`${name} of deposit ${id}: afterTx confirms it without showing it`)
            confirmed.push(performance.now() - began)
          } else {
            const took = await api.until(list, isRight, 2 * WITHIN_MS)
            if (took === null) fail(`${name} of deposit ${id} is not in the list after ${seconds(2 * WITHIN_MS)}`)
            waited.push(took ?? Number.POSITIVE_INFINITY)
          }
          for (const alarm of (await status()).alarms) alarms.add(alarm)
        }
      }
      const ended = Date.now() / 1_000
      for (const until = Date.now() + AUDIT_WITHIN_MS; Date.now() < until; await sleep(500)) {
        const { alarms: now, audit } = await status()
        for (const alarm of now) alarms.add(alarm)
        if ((audit?.at ?? 0) > ended) break
      }
      const many = deposits.length * Object.keys(steps).length
      const { rows } = await client.query('SELECT unknown_logs::int AS it FROM heartbeats WHERE chain_id = $1', [
        chainId,
      ])
      if (rows[0]?.it !== many) fail(`${rows[0]?.it} of ${many} unknown logs counted`)
      const { data } = Transaction.parse(JSON.parse((await api.get(`/v1/transactions/${chainId}/${last}`)).body))
      if (data.unknownLogs.length !== 1 || !data.createdIncomplete)
        fail(`the transaction ${last} does not show its log`)
      if (![...alarms].some((alarm) => alarm.includes('install the release'))) fail('no alarm asks for the new release')
      for (const alarm of alarms) if (BLAMES.test(alarm)) fail(`an alarm blames a node: ${alarm}`)
      const worst = Math.max(...waited)
      return {
        measured: `${many} transactions: in the list after ${seconds(worst)} at worst, by afterTx after ${seconds(Math.max(...confirmed))} at worst; ${failures.length} faults`,
        met: failures.length === 0 && worst <= WITHIN_MS,
        failures,
      }
    } finally {
      await client.end()
      await index.close()
    }
  },
}
