import type { LastIds } from '../../db/index/work/progress.ts'
import type { Hint } from '../../protocol/abi/logs.ts'
import type { RawLog } from '../../protocol/abi/packed-log.ts'
import { kinds, memberKinds } from '../../protocol/entities.ts'

/** Most words of a log's data that are taken for ids. */
const MAX_WORDS = 16

/** The words of a log that may be ids: its topics after the first, and its data. */
const wordsOf = ({ topics, data }: RawLog): Set<bigint> => {
  const words = data.slice(2, 2 + MAX_WORDS * 64).match(/.{64}/g) ?? []
  return new Set([...topics.slice(1).map(BigInt), ...words.map((word) => BigInt(`0x${word}`))])
}

/**
 * What a log that this build does not know may have changed: the protocol's own state, and each entity that one of its
 * words can name. An upgrade may have changed the logs, and so what they mean.
 */
export const hintsOf = (log: RawLog, last: LastIds): Hint[] => {
  const { blockNumber, blockHash, blockTimestamp, transactionHash: txHash, logIndex } = log
  const origin = { kind: 'hint', blockNumber, blockHash, blockTimestamp, txHash, logIndex } as const
  const named = [...wordsOf(log)].flatMap((id) =>
    kinds.flatMap((subject): Hint[] => {
      if (id > (last[subject] ?? -1n)) return []
      return [
        subject === 'event'
          ? { ...origin, subject, id, members: memberKinds, settles: false }
          : { ...origin, subject, id },
      ]
    }),
  )
  return [{ ...origin, subject: 'chain' }, ...named]
}
