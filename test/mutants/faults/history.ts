// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

const fold = ['test/history/fold.test.ts', 'test/history/fold.service.test.ts', 'test/history/at.service.test.ts']
const series = ['test/history/series.test.ts', 'test/history/series.service.test.ts']
const totals = ['test/history/totals.service.test.ts']

export const historyFaults: Faults = {
  'src/protocol/history/fold.ts': {
    tests: fold,
    faults: [
      ['premium * SCALE + remainder', 'premium * SCALE'],
      ['isRecovered && !claimed ? 0n', 'isRecovered ? 0n'],
      ['entryPerShare: premiumPerShare', 'entryPerShare: 0n'],
      ['      creatorEarnings = 0n\n', ''],
      ['      totalMaxPayout = reserveAt(settlementPrice)\n', ''],
      ['      totalShares += shares\n', '      totalShares = shares\n'],
      ['      position.claimed = true\n', ''],
      ['      deposit.withdrawn = true\n', ''],
      ['      settledAt = log.blockTimestamp\n', '      settledAt = 1n\n'],
    ],
  },
  'src/protocol/history/rules.ts': {
    tests: fold,
    faults: [
      ['poolOpen && !isSettled && time < expiryDate', 'poolOpen && !isSettled'],
      ['  opensPool: true,', '  opensPool: false,'],
      ['premiumsEarned: (earned) => earned', 'premiumsEarned: (_, claimed) => claimed'],
    ],
  },
  'src/reads/series/times.ts': {
    tests: ['test/history/times.test.ts'],
    faults: [
      ['end: 4n * DAY', 'end: 0n'],
      ['to <= first ? 0n', 'to < first ? 0n'],
      ['many >= BigInt(most)', 'many > BigInt(most)'],
      [' + end - 1n', ' + end'],
      ['if (points.length > MAX_POINTS)', 'if (points.length >= MAX_POINTS)'],
      ['if (points.length > MAX_POINTS)', 'if (false)'],
    ],
  },
  'src/protocol/history/history.ts': {
    tests: ['test/history/proof.test.ts', ...fold],
    faults: [
      ['if (difference === undefined) return history', 'return history'],
      ['if (seen.blockNumber > completeTo) return history', ''],
      ['if (completeTo === null)', 'if (completeTo === 0n)'],
      ['log.blockNumber <= block', 'log.blockNumber < block'],
      ['log.blockTimestamp <= time', 'log.blockTimestamp < time'],
      ['blockNumber <= block),', 'blockNumber < block),'],
      ['blockNumber <= block),', 'true),'],
    ],
  },
  'src/reads/series/figures.ts': {
    tests: series,
    faults: [
      ['premiumsClaimed + pending', 'pending'],
      ['    if (!exists) continue\n', ''],
      ['    before = all\n', ''],
    ],
  },
  'src/protocol/valuation.ts': {
    tests: series,
    faults: [
      ['deposit.withdrawn ? 0n : capitalOf', 'capitalOf'],
      ['settledAt > 0n ? settledAt : BigInt(time)', 'BigInt(time)'],
    ],
  },
  'src/db/index/totals.ts': {
    tests: totals,
    faults: [
      ['AND block_timestamp <= extract(epoch from now()) - ${afterSeconds} ', ''],
      [' AND NOT ${hasGap(chainId)} GROUP BY', ' GROUP BY'],
      ['rows = known.rows + excluded.rows', 'rows = excluded.rows'],
      ['    if (next.mark === null) await', '    if (next.mark !== null) await'],
      ['AND ${ledgerDays.day} >= first.day', 'AND ${ledgerDays.day} > first.day'],
      ['AND ${from} <= (SELECT', 'AND 0 <= (SELECT'],
      ['AND ${from} <= (SELECT', 'AND ${from} < (SELECT'],
    ],
  },
  'src/reads/series/protocol.ts': {
    tests: ['test/history/totals-of.test.ts'],
    faults: [
      ['    if (begin > second) continue\n', ''],
      ['.sort()', ''],
      ['days.filter((it) => it.token === token)', 'days'],
      ['if (token === null) throw', 'if (false) throw'],
    ],
  },
  'src/reads/series/series.ts': {
    tests: series,
    faults: [
      ['[created, ...logs', '[...logs'],
      ["|| ('seconds' in to && to.seconds >= tip.timestamp)", ''],
      ['if (first > second) throw', 'if (false) throw'],
      ['historyTo(event.history, end.block.number)', 'event.history'],
      ['event.history, end.block.number', 'event.history, end.block.number + 1n'],
    ],
  },
  'src/reads/series/wallet.ts': {
    tests: ['test/history/series.test.ts'],
    faults: [
      ['event.block.number)', 'event.block.number + 1n)'],
      ['        if (slice.isOver()) await slice.next()\n', ''],
    ],
  },
  'src/api/routes/series.ts': {
    tests: series,
    faults: [
      ['isPast && isKnown', 'isPast'],
      ['isPast && isKnown', 'isKnown'],
      ['isLasting ? PAST : REVALIDATE', 'REVALIDATE'],
    ],
  },
  'src/reads/history/block-at.ts': {
    tests: ['test/history/block-at.test.ts'],
    faults: [
      ['[tip, before].find', '[tip].find'],
      ['[tip, before].find', '[before].find'],
      ['block?.number === moment.block', 'true'],
      ['if (block === null) throw', 'if (false) throw'],
      ['if (moment.block > tip.number) throw', 'if (moment.block >= tip.number) throw'],
      ['seconds > tip.timestamp && seconds * 1_000n', 'seconds * 1_000n'],
      ['seconds * 1_000n > BigInt(now)', 'seconds * 1_000n >= BigInt(now)'],
      ['if (seconds > tip.timestamp && seconds * 1_000n > BigInt(now))', 'if (false)'],
      ['if (seconds > tip.timestamp)', 'if (seconds >= tip.timestamp)'],
      ['if (low.timestamp > seconds)', 'if (low.timestamp >= seconds)'],
      ['found.timestamp <= seconds', 'found.timestamp < seconds'],
    ],
  },
  'src/db/totals-text.ts': {
    tests: totals,
    faults: [
      [
        "WHEN ${code('capital.withdrawn')} THEN (SELECT amount",
        "WHEN ${code('capital.withdrawn')} THEN (SELECT 1 + amount",
      ],
      ["code('position.created')} THEN (SELECT notional", "code('position.created')} THEN (SELECT premium_paid"],
      ['AND l.block_number <= ${upTo}', ''],
    ],
  },
  'src/db/queries/audit-sums.ts': {
    tests: totals,
    faults: [
      [
        'row(rows, amount, fee, notional)::text AS sums FROM ${ledgerDays}',
        'row(rows, amount, fee, rows)::text AS sums FROM ${ledgerDays}',
      ],
      ['FULL JOIN', 'JOIN'],
      ['least(${high - 1n}::bigint, ${mark})', '${high - 1n}::bigint'],
      ['(day + 1n) * DAY)', 'day * DAY)'],
    ],
  },
  'src/indexer/audit/sums.ts': {
    tests: totals,
    faults: [
      ['day <= range.last', 'day < range.last'],
      ['range.first; day', 'range.first + 1n; day'],
      ['differences.push(...found.filter((difference) => again.has(difference)))', ''],
    ],
  },
  'src/db/queries/totals.ts': {
    tests: totals,
    faults: [
      ['(${isWithin} OR day < ${lastDay})', 'true'],
      ['number <= ${number})`', 'number < 0)`'],
    ],
  },
}
