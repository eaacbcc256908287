import type { Address, Hex } from 'viem'
import type { Chain } from '../../src/chain/chain.ts'
import type { Block } from '../../src/chain/rpc/requests.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import type { Kind } from '../../src/protocol/entities.ts'
import type { TransactionSources } from '../../src/reads/transactions/found.ts'
import { createSenders } from '../../src/reads/transactions/replacement.ts'
import { blockAt } from './fake-chain.ts'

export const SENDER: Address = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'

/** A transaction as a node returns it. */
export const rawTransaction = (hash: unknown, changes: object = {}) => ({
  ...{ hash, from: SENDER, to: '0x00000000000000000000000000000000000000aa', nonce: '0x7', value: '0x0' },
  ...{ gas: '0x5208', input: '0x', ...changes },
})

/** A row that a transaction created. */
type Row = { readonly kind: Kind; readonly id: bigint; readonly owner: Address; readonly block: StoredBlock }

/** The sources of look-ups, with an index and final blocks that a test sets. */
export const fakeSources = (chain: Chain) => {
  const state = {
    tip: null as StoredBlock | null,
    rows: [] as Row[],
    /** The numbers of the final blocks; an error is thrown. */
    finalized: null as bigint | Error | null,
    safe: null as bigint | Error | null,
    indexFault: null as Error | null,
  }
  const searched: [kind: Kind, hash: Hex, after: bigint][] = []
  const createdIn = (kind: Kind) => async (_: number, hash: Hex, after: bigint) => {
    searched.push([kind, hash, after])
    return state.rows.filter((row) => row.kind === kind)
  }
  const sources: TransactionSources = {
    chains: new Map([[chain.chainId, chain]]),
    queries: {
      async indexed() {
        if (state.indexFault !== null) throw state.indexFault
        return state.tip
      },
      createdIn: { event: createdIn('event'), deposit: createdIn('deposit'), position: createdIn('position') },
    },
    finality: {
      async finalBlock(_, level): Promise<Block | null> {
        const number = level === 'latest' ? null : state[level]
        if (number instanceof Error) throw number
        return number === null ? null : blockAt(number)
      },
    },
    senders: createSenders(),
    decodeCall(_, to, data) {
      const name = new Map([
        ['0x12', 'deposit'],
        ['0x34', 'pause'],
      ]).get(data)
      return name === undefined ? null : { function: name, args: { to } }
    },
  }
  return { sources, state, searched }
}
