// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

const content = ['test/export/content.service.test.ts']
const runs = ['test/export/runs.service.test.ts']

export const exportFaults: Faults = {
  'src/export/columns.ts': {
    tests: ['test/export/columns.test.ts'],
    faults: [
      ['decimals > scale && given % factor !== 0n', 'false'],
      ['shown < 10n ** BigInt(PRECISION)', 'true'],
      ['seconds > 0 && ', ''],
      [' && seconds <= MAX_SECONDS', ''],
      ['isAdjustedToUTC: true', 'isAdjustedToUTC: false'],
      ["isNullable ? 'OPTIONAL' : 'REQUIRED'", "'OPTIONAL'"],
      ['[ENCODING, columns', '[0, columns'],
    ],
  },
  'src/export/parquet.ts': {
    tests: ['test/export/columns.test.ts'],
    faults: [
      ['    if (many % groupRows !== 0) await writeGroup()\n', ''],
      ['      if (many % groupRows === 0) await writeGroup()\n', ''],
      ['      hash.update(bytes)\n', ''],
      ['    group = columns.map(() => [])\n', ''],
    ],
  },
  'src/export/final.ts': {
    tests: runs,
    faults: [
      ['indexed.value?.hash !== state.block.hash', 'indexed.value === null'],
      ['final.number < state.block.number ? final : state.block', 'state.block'],
      ['if (unreadAt !== null) days', 'if (false) days'],
      ['it.first > final ? [] : ', ''],
      ['it.last > final ? { ...it, last: final } : it', 'it'],
      ['now.gaps.every(', '[].every('],
      ['startOf(dayOf(before)) - 1n', 'before'],
    ],
  },
  'src/export/export.ts': {
    tests: [...content, ...runs],
    faults: [
      ['!isAsComplete(await readExportState(rows, chainId), part)', 'false'],
      ['seen.first ??= block', 'seen.first = block'],
      ['listed?.sha256 === entry.sha256 && onDiskNow', 'onDiskNow'],
      [' && onDiskNow === entry.sha256', ''],
      ["mode === 'repair' ? keep(entry) : ", ''],
      ["if (mode !== 'verify') await writeManifest(folder, manifest)", ''],
      ['if (incomplete.some(({ first, last }) => first <= day && day <= last)) continue', ''],
      ["last >= (from ?? '') && first <= (to ?? last)", 'true'],
      ['found?.size === bytes && format', 'format'],
      [' && format === formats.get(table)', ''],
      ['from > first ? from : first', 'first'],
      ['to !== undefined && to < last ? to : last', 'last'],
      ['    manifest.files.set(entry.path, entry)\n', ''],
      ['days.why === why && dayOf(endOf(days.last)) === day', 'false'],
      ['          if (!(fault instanceof InexactPast)) throw fault\n', ''],
      ['          await onDisk(() => rm(temporaryOf(pathOf(table, chainId, day))))\n', ''],
    ],
  },
  'src/export/day-states.ts': {
    tests: [...content, ...runs],
    faults: [
      ['if (await hasOpenGap(source.rows, chainId)) throw', 'if (false) throw'],
      ['foldAt(history, high)', 'foldAt(history, day.low)'],
      ['ids.length < source.pageRows', 'ids.length <= source.pageRows'],
      ['if (history instanceof TooManyLogs) yield', 'if (history instanceof InexactPast) yield'],
    ],
  },
  'src/reads/history/past.ts': {
    tests: [...runs, 'test/history/past-sizes.test.ts'],
    faults: [
      ['if (record.logs.length > MAX_LOGS) return', 'if (false) return'],
      ['logs > sizes.mostLogs) break', 'logs >= sizes.mostLogs) break'],
      ['    if (logs > sizes.mostLogs) break\n', ''],
      ['let size = firstEvents', 'let size = eventsAtOnce'],
      ['Math.min(eventsAtOnce, ', 'Math.min(firstEvents, '],
      ['(logsAtOnce * some.length)', 'logsAtOnce'],
      ['    from += size\n', '    from += size + 1\n'],
    ],
  },
  'src/export/source.ts': {
    tests: content,
    faults: [
      ['(await lists.activity.blockAt(chainId, endOf(day))) - 1n', 'await lists.activity.blockAt(chainId, endOf(day))'],
    ],
  },
  'src/export/manifest.ts': {
    tests: [...content, ...runs],
    faults: [
      ['data.chainId !== chainId || data.diamond !== diamond', 'data.chainId !== chainId'],
      ['.sort(inOrder)', ''],
      ['if (!success)', 'if (false)'],
    ],
  },
  'src/export/tables.ts': {
    tests: content,
    faults: [
      [
        'after = { id: BigInt(last.blockNumber), key: String(last.logIndex) }',
        "after = { id: BigInt(last.blockNumber), key: '0' }",
      ],
      ['rows.length < source.pageRows', 'rows.length <= source.pageRows'],
      ['Number(ids.last - from) + 1', 'Number(ids.last - from)'],
      ["['event.settled']", 'undefined'],
      ['settledAt: row.blockTimestamp', 'settledAt: row.blockNumber'],
    ],
  },
  'src/db/queries/export.ts': {
    tests: [...content, ...runs],
    faults: [
      ['AND block_number < $2::bigint)', ')'],
      ['OR id IN (', 'AND id IN ('],
      ['AND id > $4::bigint AND', 'AND id >= $4::bigint AND'],
      ['CASE WHEN ledger_only THEN unread_to ELSE to_block END', 'to_block'],
      ['CASE WHEN ledger_only THEN unread_to ELSE to_block END', 'unread_to'],
      ['coalesce(ledger_number + 1, 0)', 'ledger_number + 1'],
      ['AND payment_token IS NULL', 'AND false'],
    ],
  },
  'src/compose/commands/export.ts': {
    tests: ['test/export/command.service.test.ts'],
    faults: [
      ["wanted.mode === 'verify' && report.different.length > 0", 'false'],
      ['process.exitCode = 1', 'process.exitCode = 0'],
      ['from !== undefined && to !== undefined && from > to', 'false'],
      ['if (!chainIds.includes(chain.chainId)) continue', ''],
    ],
  },
}
