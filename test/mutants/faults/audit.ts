import type { Faults } from '../fault.ts'

const slices = ['test/indexer/audit-slice.service.test.ts']
const whole = ['test/indexer/audit.service.test.ts']

export const auditFaults: Faults = {
  'src/indexer/audit/slice.ts': {
    tests: slices,
    faults: [
      ['      if (signal?.aborted) return false\n', ''],
      ['if (texts.length > 0) decided', 'if (texts.length > 1) decided'],
      ['it.created.length + it.observed.length > 0', 'it.created.length > 0'],
      ['it.created.length + it.observed.length > 0', 'it.observed.length > 0'],
      ["slice.kind === 'event' && slice.nextId === 0n", "slice.kind === 'event'"],
      ["slice.kind === 'event' && slice.nextId === 0n", 'slice.nextId === 0n'],
      ['if (signal?.aborted || !(await store', 'if (!(await store'],
      ['fault instanceof AnchorLost || isUnavailable(fault)', 'fault instanceof AnchorLost'],
      ['fault instanceof AnchorLost || isUnavailable(fault)', 'isUnavailable(fault)'],
      ['second.length === 0 ? {', 'second.length > 0 ? {'],
      ['observed: second, verdict', 'verdict'],
      ["verdict !== 'withdrawn' || it.observed.length === 0", "verdict !== 'withdrawn'"],
      ["verdict !== 'withdrawn' || it.observed.length === 0", 'it.observed.length === 0'],
      ['chain: withoutCache(chain), log }\n    const', 'chain, log }\n    const'],
      ["filter(({ verdict }) => verdict !== 'withdrawn')", 'filter(() => true)'],
      ["verdict === 'repairable' && record ? [record]", 'record ? [record]'],
      ['Math.max(onChain, slice.rowCount)', 'Math.min(onChain, slice.rowCount)'],
      ['repaired: records.length + again.length + cleared.length', 'repaired: records.length + again.length'],
      ['repaired: records.length + again.length + cleared.length', 'repaired: records.length'],
      ['open.at(-1)', 'open.at(0)'],
      ['    await holdAnchor(handle, chainId, slice.anchor)\n', ''],
      [
        'if (!(await saveSlice(handle, chainId, slice, found))) return false',
        'await saveSlice(handle, chainId, slice, found)',
      ],
      ['    for (const { id } of cleared) await clearTexts(handle, slice.kind, chainId, id)\n', ''],
      ['records.length + cleared.length > 0) await', 'records.length > 0) await'],
      ['records.length + cleared.length > 0) await', 'cleared.length > 0) await'],
      ["if (verdict === 'withdrawn') log.warn", "if (verdict !== 'withdrawn') log.warn"],
    ],
  },
  'src/indexer/audit/compare.ts': {
    tests: slices,
    faults: [
      ['if (row == null) return onChain == null ? [] :', 'if (row == null) return'],
      ['if (onChain == null) return [', 'if (onChain != null) return ['],
      ['if (settledAt !== 0n)', 'if (settledAt === 0n)'],
      ["row === undefined || row.type === 'reverted'", 'row === undefined'],
      ['row === undefined || rendered === undefined || row[column]', 'row === undefined || row[column]'],
      ["...(kind === 'event' ? differentSettlement(id, rows.settlements?.get(id), now) : []),", ''],
      ['waiting.has(id) && different.length > 0', 'different.length > 0'],
      ['waiting.has(id) && different.length > 0', 'waiting.has(id)'],
      ['observed: isWaiting ? [] : different', 'observed: different'],
      ['differentTexts(state, id, rows[state]?.get(id), rendered.get(id))', '[]'],
      ['created: created === null ? [] : differentRows(created, id, row, factRow(record))', 'created: []'],
      ['[...created, ...observed, ...texts]', '[...created, ...observed]'],
    ],
  },
  'src/indexer/audit/kind.ts': {
    tests: whole,
    faults: [
      ['const beyond = (last ?? 0n) + 1n', 'const beyond = last ?? 0n'],
      ['end > (first.last ?? 0n)', 'end >= (first.last ?? 0n)'],
      ['isBeyond && !isMore ? null', 'isBeyond ? null'],
      [': end + 1n\n', ': end\n'],
      ['...members.differences]', ']'],
      [
        "if (kind !== 'event') return { ...confirmed, lists: 0, next }",
        "if (kind === 'deposit') return { ...confirmed, lists: 0, next: null }",
      ],
      ['total.value === BigInt(found)', 'total.value >= BigInt(found)'],
    ],
  },
  'src/indexer/audit/lists.ts': {
    tests: whole,
    faults: [
      ['mine.join() === theirs.join() ? []', 'mine.length === theirs.length ? []'],
      ['(a < b ? -1 : 1)', '(a < b ? 1 : -1)'],
      ['if (isRevert(outcome.error)) return []', 'if (!isRevert(outcome.error)) return []'],
      ['lists: memberKinds.length * eventIds.length', 'lists: eventIds.length'],
      ['kinds[kinds.indexOf(kind) + 1]', 'kinds[kinds.indexOf(kind) + 2]'],
      ['owned.size === limit && last !== undefined', 'owned.size > limit && last !== undefined'],
    ],
  },
  'src/indexer/audit/origins.ts': {
    tests: whole,
    faults: [
      ['const BATCH = 99', 'const BATCH = 1'],
      [
        'filter((number) => number <= pin.number)\n  const headers',
        'filter((number) => number < pin.number)\n  const headers',
      ],
      ['if (headers.get(pin.number)?.hash !== pin.hash)', 'if (headers.get(pin.number) === undefined)'],
      ['header?.hash !== row.blockHash', 'header?.hash === row.blockHash'],
      ['number - range.from < width', 'number - range.from <= width'],
      ['next = last.number + 1n', 'next = upTo + 1n'],
      ['filter(([, { txHash }]) => txHash !== null)', 'filter(() => true)'],
      ["row.type === 'reverted' ? [] :", ''],
      ['logs.has(keyOf(kind, id)) ? [] : [row]', '[]'],
      ['withoutLog: all.size - rows.length', 'withoutLog: rows.length'],
      ['[...(differences.get(id) ?? []), ...found]', '[...found]'],
    ],
  },
  'src/indexer/audit/fees.ts': {
    tests: ['test/indexer/fees.service.test.ts'],
    faults: [
      ['[hedgerFeeRate, payoutFeeRate, lpProfitFeeRate', '[hedgerFeeRate, lpProfitFeeRate'],
      ['if (stored !== onChain)', 'if (stored === onChain)'],
      ['if (textOf(newest) !== onChain)', 'if (textOf(newest) === onChain)'],
      ['chain.status().hasLogs ?', '!chain.status().hasLogs ?'],
      ['const newest = rows.at(-1)', 'const newest = rows.at(0)'],
    ],
  },
}
