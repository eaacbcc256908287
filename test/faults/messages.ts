import type { Client } from 'pg'
import { Webhook } from 'standardwebhooks'
import { encodeEventTopics } from 'viem'
import { z } from 'zod'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { errorText } from '../../src/lib/errors.ts'
import type { Received } from '../support/webhook-receiver.ts'
import type { Rpc } from './rpc.ts'

const [SETTLED] = encodeEventTopics({ abi: protocolAbi, eventName: 'EventSettled' })

const Message = z.object({
  type: z.string(),
  data: z.object({
    seq: z.int().optional(),
    wallet: z.string().optional(),
    eventId: z.int().optional(),
    transactionHash: z.string().nullish(),
  }),
})

type Message = z.infer<typeof Message>

const entityOf = ({ type, data }: Message): string =>
  type.startsWith('settlement.')
    ? `settlement ${data.eventId}`
    : `${type.replace(/^activity\..*/, 'activity')} ${data.wallet ?? data.eventId}`

/** What a receiver must have: the ids by the tables of the index, and the settlements by the chain. */
export type Expected = {
  readonly ids: readonly string[]
  /** All on the chain. Those from before the endpoint may be absent. */
  readonly settlements: readonly {
    readonly eventId: number
    readonly transactionHash: string
    readonly isRequired: boolean
  }[]
}

/**
 * Reads what a receiver of everything must have: the newest state of every entity, every settlement and reversal with a
 * number above `begin`, and as final every settlement on the chain from `fromBlock`, all of which must be final by now.
 */
export const expectedMessages = async (options: {
  readonly client: Client
  readonly node: Rpc
  readonly begin: number
  readonly fromBlock: number
}): Promise<Expected> => {
  const { client, node, begin, fromBlock } = options
  const { rows } = await client.query<{ id: string }>(
    `SELECT type || '.changed.' || seq AS id FROM feed WHERE type <> 'protocol' AND seq > $1
     UNION ALL SELECT 'settlement.' || type || '.' || seq FROM settlements WHERE seq > $1
     UNION ALL SELECT 'activity.recorded.' || seq FROM ledger WHERE seq > $1
     UNION ALL SELECT 'activity.reverted.' || seq FROM ledger_reversals WHERE seq > $1
     UNION ALL SELECT 'settlement.finalized.' || finalized_seq FROM settlements
       WHERE type = 'settled' AND finalized_seq > $1`,
    [begin],
  )
  const found = await node.send('eth_getLogs', [{ fromBlock: '0x0', topics: [SETTLED] }])
  const settlements = z
    .array(z.object({ topics: z.array(z.string()), transactionHash: z.string(), blockNumber: z.string() }))
    .parse(found)
    .map(({ topics, transactionHash, blockNumber }) => ({
      eventId: Number(topics[1]),
      transactionHash,
      isRequired: Number(blockNumber) >= fromBlock,
    }))
  if (rows.length === 0 || !settlements.some(({ isRequired }) => isRequired))
    throw new Error('nothing changed, or nothing settled')
  return { ids: rows.map(({ id }) => id), settlements }
}

/** Why a receiver would refuse a message that arrives now; null when it would not. */
export const signatureFault = ({ headers, body }: Received, secret: string): string | null => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return null
  } catch (fault) {
    return `${headers['webhook-id']}: ${errorText(fault)}`
  }
}

/** The faults of what a receiver got: a wrong order, or something that is missing. */
export const faultsOf = (received: readonly Received[], { ids, settlements }: Expected): string[] => {
  const faults: string[] = []
  const got = new Set<string>()
  const last = new Map<string, number>()
  const settled = new Map<number, string>()
  const final = new Map<number, string>()
  for (const { headers, body } of received) {
    const id = String(headers['webhook-id'])
    got.add(id)
    const message = Message.parse(JSON.parse(body))
    const { type, data } = message
    const entity = entityOf(message)
    const seq = data.seq ?? 0
    if (seq < (last.get(entity) ?? 0)) faults.push(`${id} came after ${last.get(entity)}`)
    last.set(entity, seq)
    if (data.eventId === undefined) continue
    if (type === 'settlement.settled') settled.set(data.eventId, String(data.transactionHash))
    if (type === 'settlement.reverted') settled.delete(data.eventId)
    if (type === 'settlement.finalized') final.set(data.eventId, String(data.transactionHash))
  }
  const onChain = new Map(settlements.map((it) => [it.eventId, it.transactionHash]))
  for (const [eventId, transactionHash] of final)
    if (onChain.get(eventId) !== transactionHash)
      faults.push(`the final settlement of event ${eventId} is not on the chain`)
  for (const [eventId, transactionHash] of settled)
    if (onChain.get(eventId) !== transactionHash)
      faults.push(`the settlement of event ${eventId} is not on the chain, and was not reverted`)
  for (const { eventId, transactionHash, isRequired } of settlements) {
    if (!isRequired) continue
    if (settled.get(eventId) !== transactionHash) faults.push(`the settlement of event ${eventId} is missing`)
    if (final.get(eventId) !== transactionHash) faults.push(`the final settlement of event ${eventId} is missing`)
  }
  return [...faults, ...ids.filter((id) => !got.has(id)).map((id) => `${id} is missing`)]
}
