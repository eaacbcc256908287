import type { Chain } from '../../chain/chain.ts'
import { parseLogs } from '../../chain/rpc/log-shape.ts'
import { type Block, getBlock, getLogs } from '../../chain/rpc/requests.ts'
import type { LedgerRow } from '../../db/index/ledger.ts'
import { isUnavailable } from '../../lib/errors.ts'
import { type RawLog, topicWordsOf } from '../../protocol/abi/packed-log.ts'
import { unanimous } from '../agreement.ts'

/** Blocks per request: endpoints have a second to answer it. */
const BATCH = 20

/** The logs of blocks, and the blocks, from all endpoints; none when they are out of reach. */
const askAll = async (chain: Chain, numbers: readonly bigint[]) => {
  const { diamond: address } = chain.deployment
  try {
    return await chain.queryAllEndpoints({
      blocks: numbers.map((number) => getBlock(number)),
      // Two equal logs of a block are not left out, because a row may be the second one.
      logs: numbers.map((number) => ({
        ...getLogs({ address, fromBlock: number, toBlock: number }),
        parse: parseLogs,
      })),
    })
  } catch (fault) {
    if (isUnavailable(fault)) return []
    throw fault
  }
}

/** Whether a block has the log of a row. What else the row has follows from the log and from the index. */
const hasRow = ({ deployment }: Chain, row: LedgerRow, block: Block, logs: readonly RawLog[]): boolean => {
  const { blockHash: hash, blockTimestamp: timestamp, logIndex, data, topics, txHash } = row
  const expected = [hash, timestamp, hash, logIndex, txHash, deployment.diamond, topics, data].join().toLowerCase()
  return logs.some((log) => {
    const place = [block.hash, block.timestamp, log.blockHash, log.logIndex, log.transactionHash]
    return [...place, log.address, topicWordsOf(log), log.data].join().toLowerCase() === expected
  })
}

/**
 * Asks all endpoints for rows of the ledger, and returns those that each one has, as `unanimous` decides. Endpoints
 * without the block, or that refuse its logs, do not count.
 */
export const confirmRows = async (chain: Chain, rows: readonly LedgerRow[]): Promise<LedgerRow[]> => {
  const numbers = [...new Set(rows.map(({ blockNumber }) => blockNumber))]
  const confirmed: LedgerRow[] = []
  for (let at = 0; at < numbers.length; at += BATCH) {
    const some = numbers.slice(at, at + BATCH)
    const answers = await askAll(chain, some)
    for (const row of rows) {
      const nth = some.indexOf(row.blockNumber)
      const found = answers.flatMap(({ outcomes }) => {
        const [block, logs] = [outcomes.blocks[nth], outcomes.logs[nth]]
        return block?.ok && block.value !== null && logs?.ok ? [hasRow(chain, row, block.value, logs.value)] : []
      })
      if (unanimous(chain, found, (one, other) => one === other) === true) confirmed.push(row)
    }
  }
  return confirmed
}
