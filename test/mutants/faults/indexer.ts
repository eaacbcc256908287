// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files
import type { Faults } from '../fault.ts'

export const indexerFaults: Faults = {
  'src/db/index/write.ts': {
    tests: [
      'test/indexer/write.service.test.ts',
      'test/indexer/rollback.service.test.ts',
      'test/indexer/settlements-reorgs.service.test.ts',
    ],
    faults: [
      ['for (const kind of kinds) await copyMany(', 'for (const kind of kinds.slice(1)) await copyMany('],
      ['set: row })\n}', 'set: { ...row, complete: true } })\n}'],
      [
        'const row = { chainId, ...blockColumns(block), complete }',
        'const row = { chainId, ...blockColumns(block), complete: true }',
      ],
      ['const fees = hasFees ?', 'const fees = !hasFees ?'],
      ['CASE WHEN ${feesNumber} = ${blockNumber} THEN', 'CASE WHEN ${feesNumber} <= ${blockNumber} THEN'],
      ['...(hasFees && { feesNumber: moved(feesNumber), feesHash: moved(feesHash) })', '...(hasFees && fees)'],
      ['set: { ...row, ...(hasFees &&', 'set: { ...(hasFees &&'],
      ['feesHash: moved(feesHash) }', 'feesHash: moved(feesNumber) }'],
      ['if (tip % every !== 0n) return', ''],
      ['if (tip % every !== 0n) return', 'if (tip % every === 0n) return'],
      ['thinned.nth > 1', 'thinned.nth >= 1'],
      ['ORDER BY block_number) AS nth', 'ORDER BY block_number DESC) AS nth'],
      ['WHERE chain_id = ${chainId} AND block_number < ${tip}', 'WHERE block_number < ${tip}'],
      ['WHERE anchor.chain_id = ${chainId} AND anchor.block_number', 'WHERE anchor.block_number'],
      ['/ ${dense}::numeric)))::bigint', '/ (2 * ${dense})::numeric)))::bigint'],
      ['const THIN_EVERY = 64n', 'const THIN_EVERY = 32n'],
      ['const DENSE_ANCHORS = 512', 'const DENSE_ANCHORS = 510'],
      ['await lockRefreshQueue(handle, chainId)\n  const number = ancestor?.number', 'const number = ancestor?.number'],
      [
        'const number = ancestor?.number ?? -1n',
        'const number = ancestor?.number ?? 0n',
        'A chain is not indexed from a block 0 with logs, and the rollback itself removes the rest.',
      ],
      ['seen.block_number > ${number}', 'seen.block_number >= ${number}'],
      ['fact.block_number <= ${number} LIMIT', 'fact.block_number < ${number} LIMIT'],
      ['fact.block_number <= ${number} LIMIT', 'true LIMIT'],
      [
        'JOIN ${facts} AS fact USING (chain_id, id)\n          WHERE chain_id = ${chainId} AND seen',
        'JOIN ${facts} AS fact USING (chain_id, id)\n          WHERE seen',
      ],
      ['DELETE FROM ${table} WHERE chain_id = ${chainId} AND id IN (', 'DELETE FROM ${table} WHERE id IN ('],
      ['if (rows[0]?.gone === batch) isMore = true', 'isMore = rows[0]?.gone === batch'],
      ['if (rows[0]?.gone === batch) isMore = true', 'if ((rows[0]?.gone ?? 0) > batch) isMore = true'],
      [' FROM gone ${onConflictRaiseVersion}', ' FROM gone ON CONFLICT DO NOTHING'],
      ['const ancestorNumber = ancestor?.number ?? -1n', 'const ancestorNumber = ancestor?.number ?? 0n'],
      ['gt(table.blockNumber, ancestorNumber)', 'gt(table.blockNumber, ancestorNumber - 1n)'],
      [
        'where(and(eq(table.chainId, chainId), gt(table.blockNumber, ancestorNumber)))',
        'where(gt(table.blockNumber, ancestorNumber))',
      ],
      ['await lockRefreshQueue(handle, chainId)\n  const reverted', 'const reverted'],
      ['await touchedAbove(handle, chainId, ancestorNumber),\n', ''],
      ['    touchingAll(null),\n    await', '    await'],
      [
        'while (await deleteSomeObservations(handle, chainId, ancestor, batch));',
        'await deleteSomeObservations(handle, chainId, ancestor, batch)',
      ],
      ['while (await deleteSomeObservations(handle, chainId, ancestor, batch));\n', ''],
      ['    await removeAbove(entityTables[kind].observations)\n', ''],
      ['    await removeAbove(entityTables[kind].facts)\n', ''],
      ['  await removeAbove(t.feeRates)\n', ''],
      ['  await removeAbove(t.chainObservations)\n', ''],
      ['  await removeAbove(upgrades)\n', ''],
      ['  await removeAbove(settlementLogs)\n', ''],
      ["  await requestRefresh(handle, chainId, [{ subject: 'chain', id: 0n }])\n", ''],
      ['  await removeAbove(anchors)\n', ''],
      ['  await deleteProof(handle, chainId, ancestorNumber)\n', ''],
      ['coalesce((SELECT max(noted)', 'coalesce((SELECT min(noted)'],
      ['  await handle.insert(rollbacks).values({ chainId, ancestorNumber, lastRequest })\n', ''],
      ['AND complete ORDER BY', 'ORDER BY'],
      ['ORDER BY block_number DESC LIMIT 1) AS newest', 'ORDER BY block_number LIMIT 1) AS newest'],
      ['CASE WHEN fees_number > block_number THEN block_number ELSE fees_number END', 'block_number'],
      ['CASE WHEN fees_number > block_number THEN block_hash ELSE fees_hash END', 'fees_hash'],
      ["if (ancestor === null) await suspendFeed(handle, chainId, 'rebuilt')", ''],
      [
        "if (ancestor === null) await suspendFeed(handle, chainId, 'rebuilt')",
        "await suspendFeed(handle, chainId, 'rebuilt')",
      ],
      ['  await announceChanges(handle, chainId, touched, reverted)\n', ''],
      ['await announce(handle, chainId, all, drafts.length)', 'await announce(handle, chainId, all, 0)'],
      ['drafts.length === 0 ? touched : union([touched, touching(settlementsScope)])', 'touched'],
    ],
  },
  'src/indexer/commit.ts': {
    tests: ['test/indexer/commit.service.test.ts', 'test/indexer/settlements-reorgs.service.test.ts'],
    faults: [
      ['      await holdLease(handle, lease, leaseTtlMs)\n', ''],
      ['        await lockRefreshQueue(handle, chainId)\n', ''],
      ['isBehind && facts.length > backfillFacts', 'isBehind || facts.length > backfillFacts'],
      ['facts.length > backfillFacts', 'facts.length >= backfillFacts'],
      ['const BACKFILL_FACTS = 2_000', 'const BACKFILL_FACTS = 1_000'],
      ['for (const { id } of made.event) touched.delete(id)\n', ''],
      ["(fact.kind === 'event' ? [] : fact.eventId)", "(fact.kind === 'position' ? fact.eventId : [])"],
      ['...(protocol || made.event.length > 0 ? [protocolState] : [])', '...(protocol ? [protocolState] : [])'],
      [
        '...(protocol || made.event.length > 0 ? [protocolState] : [])',
        '...(made.event.length > 0 ? [protocolState] : [])',
      ],
      [
        "'id' in hint ? { subject: hint.subject, id: hint.id } : protocolState",
        "'id' in hint ? { subject: hint.subject, id: hint.id } : []",
      ],
      ["'id' in hint && hint.subject === kind ? hint.id : []", "'id' in hint ? hint.id : []"],
      ["hint.subject === 'event' && hint.members.includes(member)", "hint.subject === 'event'"],
      ['if (isBackfill(written)) return touchingAll(null)', ''],
      ['const touched: Touched[] = [touchedByFacts(facts)]', 'const touched: Touched[] = []'],
      ["if (hints.some(({ subject }) => subject === 'chain')) touched.push(touchingProtocol)", ''],
      ["if (hints.some(({ subject }) => subject === 'code')) touched.push(touchingAll(null))", ''],
      ['if (uncovers) touched.push(touchingAll(null), await', 'if (uncovers) touched.push(await'],
      ['touchingAll(null), await touchedAbove(handle, chainId, shown))', 'touchingAll(null))'],
      ['for (const kind of kinds) touched.push(', 'for (const kind of memberKinds) touched.push('],
      ["if (isBackfill(written)) await suspendFeed(handle, chainId, 'backfill')", ''],
      ['written.isBehind ? null : await resumeFeed(', 'isBackfill(written) ? null : await resumeFeed('],
      ['return reset === null ? touching() : touchingAll(reset)', 'return touching()'],
      ['coalesce(max(block_number), -1) FROM ${cursors}', '-1 FROM ${cursors}'],
      ['        await insertFacts(copy, chainId, facts)\n', ''],
      ['        await insertFees(handle, chainId, fees ?? [])\n', ''],
      ['        await insertSettlementLogs(handle, chainId, hints)\n', ''],
      ['        await requestRefresh(handle, chainId, changedBy(written), block.number)\n', ''],
      ['changedBy(written), block.number)', 'changedBy(written))'],
      ['await requestEventRefresh(handle, chainId, kind, idsIn(hints, kind), block.number)', ''],
      ['await requestMemberRefresh(handle, chainId, kind, eventsWith(hints, kind), block.number)', ''],
      ["for (const hint of hints) if (hint.subject === 'code') await recordUpgrade(handle, chainId, hint)", ''],
      ['        await requestSettlementRefresh(handle, chainId, block)\n', ''],
      ['await addAnchor(handle, chainId, block, complete)', 'await addAnchor(handle, chainId, block, true)'],
      ['if (complete) await moveCursor(', 'await moveCursor('],
      ['hasFees: fees !== null', 'hasFees: (fees ?? []).length > 0'],
      ['        await pruneAnchors(handle, chainId, block.number)\n', ''],
      [
        `        const touched = await touchedBy(handle, written)
        if (complete) await moveCursor(handle, chainId, block, { hasFees: fees !== null })
`,
        `        if (complete) await moveCursor(handle, chainId, block, { hasFees: fees !== null })
        const touched = await touchedBy(handle, written)
`,
      ],
      [
        `        await requestSettlementRefresh(handle, chainId, block)
        await addAnchor(handle, chainId, block, complete)
        const touched = await touchedBy(handle, written)
        if (complete) await moveCursor(handle, chainId, block, { hasFees: fees !== null })
`,
        `        await addAnchor(handle, chainId, block, complete)
        const touched = await touchedBy(handle, written)
        if (complete) await moveCursor(handle, chainId, block, { hasFees: fees !== null })
        await requestSettlementRefresh(handle, chainId, block)
`,
      ],
      [
        `        await lockRefreshQueue(handle, chainId)
        await insertFacts(copy, chainId, facts)
`,
        `        await insertFacts(copy, chainId, facts)
        await lockRefreshQueue(handle, chainId)
`,
      ],
      [
        `        await insertFacts(copy, chainId, facts)
        await insertFees(handle, chainId, fees ?? [])
        await insertSettlementLogs(handle, chainId, hints)
        await requestRefresh(handle, chainId, changedBy(written), block.number)
`,
        `        await requestRefresh(handle, chainId, changedBy(written), block.number)
        await insertFacts(copy, chainId, facts)
        await insertFees(handle, chainId, fees ?? [])
        await insertSettlementLogs(handle, chainId, hints)
`,
        'Requests name their subjects by id, and the transaction commits both at once.',
      ],
      ['union([touched, await feedStateOf(handle, written)])', 'touched'],
      ['while (await commit(', 'await (commit('],
      ['await commit(lease, (handle) => rollBack(', 'await database.transaction((handle) => rollBack('],
      [
        'while (await commit(lease, (handle) => deleteSomeObservations(',
        'while (await database.transaction((handle) => deleteSomeObservations(',
      ],
      [
        'deleteSomeObservations(handle, chainId, ancestor, deleteBatch)',
        'deleteSomeObservations(handle, chainId, null, deleteBatch)',
      ],
    ],
  },
}
