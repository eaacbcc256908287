// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

const tests = ['test/db/carry.service.test.ts']

/** What is carried over to a rebuilt database. */
export const carryFaults: Faults = {
  'src/db/carry/carry.ts': {
    tests,
    faults: [
      ['${leases.expiresAt} > now()', '${leases.expiresAt} < now()'],
      ['reached === undefined || reached < number', 'reached !== undefined && reached < number'],
      ["${logGaps.state} = 'open'", "${logGaps.state} = 'absent'"],
      ['  await rebuilt.insert(feedEpochs).values({ epoch, last })\n', ''],
      ['last: next, fed: next', 'fed: next'],
      ['+ 1, false)', ', true)'],
      ['  await rebuilt.update(rollbacks).set({ lastRequest: 0n })\n', ''],
      ['ancestorNumber: -1n', 'ancestorNumber: 0n'],
      ['lastRequest: lastOf.get(chainId) ?? 0n', 'lastRequest: 0n'],
      ['  await rebuilt.delete(calibrations)\n', ''],
      ['  const messages = await copyTable(databases, deliveries)\n', '  const messages = 0\n'],
      ['  await carryNumbers(databases)\n', ''],
      ['carried !== undefined && carried.last !== before.last', 'false'],
      ['        hasAll = true\n', ''],
    ],
  },
  'src/db/patient-client.ts': {
    tests,
    faults: [
      ['SET statement_timeout = 0; ', ''],
      ['; SET idle_in_transaction_session_timeout = 0', ''],
    ],
  },
  'src/db/carry/refuse-changes.ts': {
    tests: ['test/db/carry-changes.service.test.ts'],
    faults: [
      ["'webhook_endpoints', 'deliveries'", "'webhook_endpoints'"],
      ["'api_keys', ", ''],
      ['  await handle.execute(sql.raw(`LOCK TABLE ${tables.join()} IN SHARE ROW EXCLUSIVE MODE`))\n', ''],
      ['INSERT OR UPDATE OR DELETE', 'INSERT OR UPDATE'],
    ],
  },
  'src/db/carry/settlements.ts': {
    tests,
    faults: [
      ['event_id, seq DESC`', 'event_id, seq`'],
      ['  await rebuilt.delete(settlements)\n', ''],
      ['kept.seq = old.seq AND old.finalized_seq IS NULL', 'kept.seq = old.seq AND old.finalized_seq IS NOT NULL'],
      ["IS DISTINCT FROM (new.type = 'settled')", "IS DISTINCT FROM (old.type = 'settled')"],
      ['    await requestRefresh(rebuilt, chainId, ids)\n', ''],
    ],
  },
  'src/db/carry/activity.ts': {
    tests,
    faults: [
      ["where: 'seq IS NOT NULL'", "where: 'seq IS NULL'"],
      ['  await rebuilt.execute(sql`UPDATE ${ledger} SET seq = NULL WHERE seq IS NOT NULL`)\n', ''],
      ['${cursor + 1n}::bigint', '${cursor - 1n}::bigint', 'rows that the previous database has are left out'],
      ['AND it.wallet IS NOT NULL AND', 'AND'],
      ['AND NOT EXISTS (SELECT FROM known AS other WHERE ${isSameLog})', ''],
      ["touchingAll('rebuilt'), reversals + news", "touchingAll('rebuilt'), news"],
      ["touchingAll('rebuilt')", 'touchingAll(null)'],
    ],
  },
}
