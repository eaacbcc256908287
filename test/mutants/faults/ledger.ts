// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

export const ledgerFaults: Faults = {
  'src/db/index/ledger.ts': {
    tests: ['test/indexer/ledger.service.test.ts'],
    faults: [
      ['byCreator.has(log.type) ?', 'false ?'],
      ['ofDeposits.get(depositId ?? -1n) ?? ofPositions', 'ofPositions'],
      ['?? ofPositions.get(positionId ?? -1n)\n', '\n'],
      ['if (lacking.length + changed.length === 0) return logs', 'if (lacking.length === 0) return logs'],
      ['gt(ledger.blockNumber, cursor)', 'gt(ledger.blockNumber, sql`${cursor} + 1`)'],
      ['if (fees.length > 0) {', 'if (false) {'],
      ['name === ledger.seq.name ? [] :', 'false ? [] :'],
      ['AND EXISTS (SELECT FROM ${feedFloors} WHERE chain_id = ${chainId} AND seq IS NOT NULL)', ''],
      ['reset === null ? rows', 'true ? rows'],
    ],
  },
  'src/db/index/rebuild.ts': {
    tests: ['test/indexer/reindex-command.service.test.ts'],
    faults: [
      [' AND NOT EXISTS (${created})', ''],
      ['${txHash} IS NOT NULL AND', 'true AND'],
      [' AND NOT ${inGap}', ''],
      ['or(within, inArray(id, ids))', 'within'],
      ["if (kind === 'event') await keepPaymentTokens(handle, chainId, ids)", ''],
      ['ids.map((id) => ({ subject: kind, id }) as const),\n', '[],\n'],
      ["if (name === 'ledger')\n    await forgetSums", 'if (!name)\n    await forgetSums'],
      ["name === 'ledger' ? { ...logs, ledger", 'false ? { ...logs, ledger'],
      ["    await announce(handle, chainId, touchingAll('repaired'))\n", ''],
      ['AND block_number > ${after}', 'AND block_number > ${after} + 1'],
      ['next.logs < most || next.to === null', 'next.to === null'],
    ],
  },
  'src/indexer/reindex.ts': {
    tests: ['test/indexer/reindex-command.service.test.ts'],
    faults: [
      ['      count.wrong += wrong.length\n', ''],
      ['      count.extra += extra.length\n', ''],
      ['.slice(0, MAX_FINDINGS - findings.length)', '.slice(1)'],
      ['    to = part.range.to\n', '    to = part.range.to - 1n\n'],
    ],
  },
  'src/db/index/audit/ledger.ts': {
    tests: ['test/indexer/ledger.service.test.ts', 'test/indexer/audit-report.service.test.ts'],
    faults: [
      ["ne(logGaps.state, 'absent')", "eq(logGaps.state, 'absent')"],
      ['to: logGaps.unreadTo', 'to: logGaps.toBlock'],
      ['ledgerNext: next,', 'ledgerNext: 0n,'],
      ['await putLedger(handle, chainId, repairs)\n', '[]\n'],
      ['[wrong, await touchedByRows(handle, chainId, repairs)]', '[wrong]'],
      ['[wrong, await touchedByRows(handle, chainId, repairs)]', '[await touchedByRows(handle, chainId, repairs)]'],
      ['    await insertFees(handle, chainId, fees)\n', ''],
      ['    await writeHints(handle, chainId, hints, null)\n', ''],
      ['block_number >= ${first', 'block_number > 1000 + ${first'],
      ['+ ${repairs.length}`', '+ 0`'],
    ],
  },
  'src/indexer/audit/ledger.ts': {
    tests: ['test/indexer/ledger.service.test.ts', 'test/indexer/audit-report.service.test.ts'],
    faults: [
      ['if (stored === undefined) return [', 'if (stored === undefined) return [] ?? ['],
      ["  'amount',\n", ''],
      ["  'wallet',\n", ''],
      ['omitted.has(keyOf(row)) ? []', 'false ? []'],
      ['next: upTo >= cursor.number ? null', 'next: upTo > cursor.number ? null'],
      ['confirmed.has(text)', 'true'],
      ['next: first.next ?? 0n', 'next: first.next ?? from'],
      ['blockNumber < gap.from || blockNumber > gap.to', 'blockNumber < gap.from || blockNumber >= gap.to'],
    ],
  },
  'src/db/index/audit/pasts.ts': {
    tests: ['test/indexer/audit-pasts.service.test.ts'],
    faults: [
      ['(a.seen.blockNumber < b.seen.blockNumber ? -1 : 1)', '(a.seen.blockNumber < b.seen.blockNumber ? 1 : -1)'],
      ['eq(facts.eventId, eventId)', 'eq(facts.eventId, eventId + 1n)'],
      ['${audits.compared} + ${compared}', '${audits.compared}'],
      ['${audits.differences} + ${differences.length}', '${audits.differences}'],
      ['lastDifference: differences.at(-1) ?? null', 'lastDifference: null'],
    ],
  },
  'src/indexer/audit/pasts.ts': {
    tests: ['test/indexer/audit-pasts.service.test.ts'],
    faults: [
      ["  if ('why' in history) return [`event ${id}: ${history.why}`]\n", "  if ('why' in history) return []\n"],
      ['log.blockNumber <= seen.blockNumber', 'true'],
      ['fold.deposit(seen.id) : fold.position(seen.id)', 'fold.deposit(seen.id) : null'],
      ['values[field] === value', 'true'],
      ['record.completeTo === null', 'false'],
      ['    await savePasts(deps.database, chainId, found)\n', ''],
      ['const SAMPLE = 5', 'const SAMPLE = 2'],
    ],
  },
  'src/db/queries/activity.ts': {
    tests: ['test/api/activity.service.test.ts', 'test/webhooks/fill.service.test.ts'],
    faults: [
      ["order === 'asc' ? '>' : '<'", "order === 'asc' ? '>=' : '<='"],
      ["'l.block_number BETWEEN wanted.low AND wanted.high',", ''],
      ["conditions: ['l.wallet = owned.by', ...ofIds, ...ofTypes]", "conditions: ['l.wallet = owned.by', ...ofTypes]"],
      ["conditions: ['l.wallet = owned.by', ...ofIds, ...ofTypes]", "conditions: ['l.wallet = owned.by', ...ofIds]"],
      ['block_timestamp < $2 AS is_earlier', 'block_timestamp <= $2 AS is_earlier'],
      ['THEN block_number + 1 ELSE low', 'THEN middle + 1 ELSE low'],
      ['${table === ledgerReversals}::boolean', 'false'],
      ['wallets === null ? sql`true`', 'wallets !== null ? sql`true`'],
      ['WHERE seq > ${seq}::bigint', 'WHERE seq >= ${seq}::bigint'],
      ['(block_number, log_index) < (f.block_number', '(block_number, log_index) > (f.block_number'],
    ],
  },
  'src/reads/activity/activity.ts': {
    tests: ['test/api/activity.service.test.ts'],
    faults: [
      ['(await blockAt(chainId, to, 1n)) - 1n', 'await blockAt(chainId, to, 1n)'],
      ['requireOneChain(name, moment, chains)', 'moment'],
      ['  requireOrder(from, to)\n', ''],
      ["? ['0', creationFee] :", "? ['0', '0'] :"],
      ['limit: limit + 1,', 'limit,'],
      ['key: String(last.logIndex)', "key: '0'"],
      ['wallet?.map(ofWallet) ?? [', '['],
    ],
  },
  'src/protocol/abi/ledger-logs.ts': {
    tests: ['test/indexer/ledger.service.test.ts', 'test/api/activity.service.test.ts'],
    faults: [
      ['wallet: read.wallet(log)', 'wallet: null'],
      ['fee: read.fee(log)', 'fee: null'],
      ['name === input', "name === input && name !== 'positionId'"],
    ],
  },
}
