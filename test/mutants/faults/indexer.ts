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
  'src/indexer/dispute.ts': {
    tests: ['test/indexer/dispute.test.ts'],
    faults: [
      ['const STOPPED_SECONDS = 5n', 'const STOPPED_SECONDS = 6n'],
      ['disagreement?.message !== message', 'disagreement === null'],
      ['denied?.number === number && denied.hash === hash', 'denied?.number === number'],
      ['denied?.number === number && denied.hash === hash', 'denied?.hash === hash'],
      ['denied = before ?? { number, hash, since: now() }', 'denied = { number, hash, since: now() }'],
      ['if (length > 1) report(', 'report('],
      ['before !== null && (length === 1 ||', '(length === 1 ||'],
      ['now() - before.since >= SINGLE_ANSWER_MS', 'now() - before.since > SINGLE_ANSWER_MS'],
      ['(length === 1 || now() - before.since >= SINGLE_ANSWER_MS)', 'now() - before.since >= SINGLE_ANSWER_MS'],
      ['block.ok && block.value !== null && head.ok', 'block.ok && block.value !== null || head.ok'],
      ['at: head.value.timestamp', 'at: block.value.timestamp'],
      ['if (first === undefined) return null', 'if (first === undefined) return []'],
      ['deniers.length > 1 || trustSingle', 'deniers.length > 2 || trustSingle'],
      [
        'deniers.length > 1 || trustSingle(number, first.hash) ? denying : null',
        'trustSingle(number, first.hash) ? denying : null',
      ],
      ['deniers.filter((it) => it.hash === of)', 'deniers.filter((it) => it.hash !== of)'],
      ['length > holders.length', 'length >= holders.length'],
      [
        'agreed !== undefined && agreed.length > 1',
        'agreed !== undefined',
        'More than one holder or a single denier never gives a group of one that is greater than the holders.',
      ],
      ['return agreed', 'return denying'],
      [
        'holders.every((holder) => at - holder.at > STOPPED_SECONDS)',
        'holders.some((holder) => at - holder.at > STOPPED_SECONDS)',
      ],
      ['const haveStopped = deniers.some(', 'const haveStopped = deniers.every('],
      ['          !isImplausibleHead(', '          isImplausibleHead('],
      [
        `      if (haveStopped) return denying
`,
        '',
      ],
      ['for (const endpoint of denying) chain.penalize', 'for (const endpoint of denying.slice(0, 1)) chain.penalize'],
      [
        `      report(\`nodes disagree about block \${number}\`)
`,
        '',
      ],
      ['now() - disagreement.at < REPORT_MS', 'now() - disagreement.at <= REPORT_MS'],
      [
        `      denied = null
    },`,
        '    },',
      ],
    ],
  },
  'src/indexer/range.ts': {
    tests: ['test/indexer/range.test.ts', 'test/indexer/range-tip.test.ts'],
    faults: [
      ['head.timestamp - last.timestamp >= SETTLED_SECONDS', 'head.timestamp - last.timestamp > SETTLED_SECONDS'],
      ['isSettled ? blocksOf', '!isSettled ? blocksOf'],
      ['[...facts, ...fees], last, known', 'facts, last, known'],
      ['topics: [feeLogTopic] })', 'topics: [] })', 'The other logs are left out afterwards.'],
      [
        'filter(({ blockNumber }) => blockNumber <= head.number)',
        'filter(({ blockNumber }) => blockNumber < head.number)',
      ],
      ['const logs = tip.logs.filter(({ blockNumber }) => blockNumber <= head.number)', 'const { logs } = tip'],
      ['const from = cursor.number + 1n', 'const from = cursor.number'],
      ['for (const known of [cursor, head])', 'for (const known of [head])'],
      ['for (const known of [cursor, head])', 'for (const known of [cursor])'],
      ['const complete = noneExists(beyond)', 'const complete = true'],
      [
        "if (outcome.value === null) throw new ChainMoved('a block of the range does not exist any more')",
        "if (outcome.value === null) throw new TypeError('no block')",
      ],
      ['const BATCH = 99', 'const BATCH = 100'],
      ['timestamp === null || timestamp > last.timestamp || timestamp', 'timestamp === null || timestamp'],
      ['timestamp < (before?.timestamp ?? 0n)) continue', 'timestamp < 0n) continue'],
      [
        'if (!blocks.has(number)) blocks.set(',
        'blocks.set(',
        'Logs of one block have one time, and with two hashes they are rejected in any case.',
      ],
      ['filter((number) => !headers.has(number))', 'filter(() => true)'],
      ['const batch = [last.number, ...numbers.slice(at, at + BATCH)]', 'const batch = numbers.slice(at, at + BATCH)'],
      [
        `    if (headers.get(last.number)?.hash !== last.hash) throw new ChainMoved(\`block \${last.number} changed\`)
`,
        '',
      ],
      ['    if (header?.hash !== log.blockHash) throw', '    if (header === undefined) throw'],
      ['return isDated(log, header) ? log : { ...log, blockTimestamp: header.timestamp }', 'return log as never'],
      [
        `    chain.penalize(endpoint, reason)
`,
        '',
      ],
      [
        `    if (log.address.toLowerCase() !== diamond) reject('a log of another contract')
`,
        '',
      ],
      ['log.blockNumber < from || log.blockNumber > last.number', 'log.blockNumber > last.number'],
      ['log.blockNumber < from || log.blockNumber > last.number', 'log.blockNumber < from'],
      ['log.blockNumber < from || log', 'log.blockNumber <= from || log'],
      ['log.blockNumber === last.number && log.blockHash !== last.hash', "log.blockHash === ''"],
      ["if (decoded === 'other') continue", "if (decoded === 'other') reject('a log that cannot be decoded')"],
      ['fees: feeLogsIn(hints) }', 'fees: [] }'],
      ['const isNext = id > last[kind]', 'const isNext = id >= last[kind]'],
      [
        `    last[kind] = id
`,
        '',
      ],
      [
        'if (first.blockHash !== fact.blockHash || first.logIndex !== fact.logIndex) return null',
        'if (first.blockHash !== fact.blockHash) return null',
      ],
      ['first.blockHash !== fact.blockHash || first', 'first'],
    ],
  },
  'src/indexer/repair.ts': {
    tests: ['test/indexer/repair.service.test.ts'],
    faults: [
      ['(gap?.times ?? 0) + 1', '(gap?.row === row ? gap.times : 0) + 1'],
      ['if (times === 1) log.info(fields', 'if (times <= 2) log.info(fields'],
      ['else if (isLogged(times)) log.warn', 'else log.warn'],
      ['if (fault instanceof DuplicateRow) chain.penalize', 'chain.penalize', 'Nothing else is thrown there.'],
      ['if (fault instanceof DuplicateRow) chain.penalize', 'if (!(fault instanceof DuplicateRow)) chain.penalize'],
      [
        `    if (inGap !== undefined) return inGap
`,
        '',
      ],
      ['range.complete === true && facts === range.facts', 'range.complete === true'],
      [
        `if (range.complete === true && facts === range.facts) return undefined
`,
        '',
      ],
      ['range.block.number === head.number) return', 'range.block.number <= head.number) return'],
      ['first.length === 0 ? undefined : firstExisting(chain, head, first)', 'undefined'],
      [
        'fact.kind === kind && fact.id > id)?.blockNumber',
        'fact.id > id)?.blockNumber',
        'Only one kind has a gap at a time, and a later block only lengthens the search.',
      ],
      [
        `?? range.block.number
    const before`,
        `?? head.number
    const before`,
      ],
      ['blockOf(id - 1n) ?? (await createdIn(', '(await createdIn('],
      ['?? (await createdIn(database, chainId, kind, id - 1n))', '?? null'],
      ['createdIn(database, chainId, kind, id - 1n)', 'createdIn(database, chainId, kind, id)'],
      ['ranges < MAX_SEARCHED_RANGES', 'ranges <= MAX_SEARCHED_RANGES'],
      ['from <= upTo; ranges', 'from < upTo; ranges'],
      ['fact.id > (last[fact.kind] ?? -1n) && !present', '!present'],
      ['&& !present.has(nameOf(fact))', ''],
      ['from = part.block.number + 1n', 'from = part.block.number'],
      ['sort((a, b) => (a.id < b.id ? -1 : 1))[0]', 'sort((a, b) => (a.id > b.id ? -1 : 1))[0]'],
      ['Math.min(Number(next.id - id), READ_BATCH)', 'READ_BATCH'],
      ['Math.min(Number(next.id - id), READ_BATCH)', 'Math.max(Number(next.id - id), READ_BATCH)'],
      ['Math.min(Number(next.id - id), READ_BATCH)', 'Math.min(Number(next.id - id) - 1, READ_BATCH)'],
      [
        'next === undefined ? range.block : head, entities',
        'head, entities',
        'Rows are only missing after the last one where the range ends at the head.',
      ],
      ['next === undefined ? range.block : head, entities', 'range.block, entities'],
      ['const READ_BATCH = 100', 'const READ_BATCH = 101'],
      [
        "      log.warn({ chainId, row: nameOf(fact) }, 'row read",
        "      log.info({ chainId, row: nameOf(fact) }, 'row read",
      ],
      ['return found.map((fact) => ({ ...fact, blockNumber, blockHash, blockTimestamp }))', 'return found'],
      [
        `          gap = null
`,
        '',
      ],
      ['if (times === 0) times = countMissing(missing)', 'times = countMissing(missing)'],
      ['if (times === 1) chain.reportMissingLogs', 'chain.reportMissingLogs'],
      ['times < SEARCH_LOGS_FROM', 'times <= SEARCH_LOGS_FROM'],
      ['times >= READ_RECORDS_FROM', 'times > READ_RECORDS_FROM'],
      ['found.length === 0 && times >=', 'times >='],
      ['facts = [...facts, ...found]', 'facts = found'],
    ],
  },
  'src/indexer/reorg.ts': {
    tests: ['test/indexer/reorg.service.test.ts'],
    faults: [
      ['const BATCH = 50', 'const BATCH = 51'],
      [
        'anchorsBelow(database, chain.chainId, below, BATCH)',
        'anchorsBelow(database, chain.chainId, below - 1n, BATCH)',
      ],
      ['const oldest = anchors.at(-1)', 'const oldest = anchors.at(0)'],
      ['all.filter(({ endpoint }) => trusted.includes(endpoint))', 'all'],
      ['hashes.every(({ length }) => length === 0)', 'answers.length === 0'],
      ['anchors.find(({ hash }, at) =>', 'anchors.findLast(({ hash }, at) =>'],
      ['hashes[at]?.includes(hash)', 'hashes[at]?.[0] === hash'],
      ['below = oldest.number - 1n', 'below = oldest.number - 2n'],
      ['finalized.value.number > (block', 'finalized.value.number >= (block'],
      ['(block?.number ?? -1n)', '(block?.number ?? 0n)'],
      [
        `if (isUnavailable(fault)) return false
`,
        '',
      ],
      [
        `if (isUnavailable(fault)) return false
    throw fault`,
        'return false',
      ],
      ['if (oldest === undefined) return null', "if (oldest === undefined) throw unavailable('no anchor')"],
    ],
  },
  'src/indexer/step.ts': {
    tests: ['test/indexer/step.service.test.ts', 'test/indexer/step-by-ids.service.test.ts'],
    faults: [
      ['(anchor?.number ?? -1n) > (cursor?.number ?? -1n)', '(anchor?.number ?? -1n) >= (cursor?.number ?? -1n)'],
      ['now() - lastProbe.at > PROBE_EVERY_MS', 'now() - lastProbe.at >= PROBE_EVERY_MS'],
      ['now() - lastProbe.at > PROBE_EVERY_MS', 'now() - lastProbe.at < PROBE_EVERY_MS'],
      ['return ranges.isAhead(cursor) ? lastProbe.head : null', 'return lastProbe.head'],
      [
        `const rollBack = async (lease: Lease, top: StoredBlock, trusted: readonly number[]): Promise<void> => {
    ranges.drop()`,
        'const rollBack = async (lease: Lease, top: StoredBlock, trusted: readonly number[]): Promise<void> => {',
        'Ranges follow their predecessor by its hash.',
      ],
      ['if (await isBelowFinal(chain, ancestor)) log.error', 'if (!(await isBelowFinal(chain, ancestor))) log.error'],
      ['isBelowFinal(chain, ancestor)', 'isBelowFinal(chain, top)'],
      ['await commits.backTo(lease, ancestor)', 'await commits.backTo(lease, null)'],
      [
        'cursor === null || probed === null || (probed.logs === null && !isAtHead)',
        'cursor === null || probed === null || probed.logs === null',
      ],
      [
        'cursor === null || probed === null || (probed.logs === null && !isAtHead)',
        'cursor === null || probed === null',
      ],
      ['facts === range.facts ? range.fees : null', 'range.fees'],
      [
        'head.timestamp - range.block.timestamp > BEHIND_SECONDS',
        'head.timestamp - range.block.timestamp >= BEHIND_SECONDS',
      ],
      ['const protocol = cursor === null', 'const protocol = false'],
      ["if (subject === 'code' && cursor !== null)", "if (subject === 'code')"],
      ['if (range.block.number === head.number) return range.block', 'return range.block'],
      [
        `if (now() < protocolDue) return false
`,
        '',
      ],
      ['if (now() < protocolDue)', 'if (now() <= protocolDue)'],
      [
        `    protocolDue = now() + PROTOCOL_EVERY_MS
`,
        '',
      ],
      ['complete ? readBatches.first : Math.min(', 'Math.min('],
      ['Math.min(readBatch * readBatches.factor, readBatches.max)', 'readBatch * readBatches.factor'],
      [
        'Math.min(readBatch * readBatches.factor, readBatches.max)',
        'Math.max(readBatch * readBatches.factor, readBatches.max)',
      ],
      ['const READ_BATCH = { first: 8,', 'const READ_BATCH = { first: 9,'],
      [
        '      protocol: anchor === null || isProtocolDue(),',
        '      protocol: isProtocolDue(),',
        'The first call is always due.',
      ],
      ['      protocol: anchor === null || isProtocolDue(),', '      protocol: anchor === null,'],
      ['isBehind: anchor === null,', 'isBehind: false,'],
      ['isBehind: anchor === null,', 'isBehind: true,'],
      ['    return complete ? block : null', '    return block'],
      [
        'if (probed.known === null || probed.anchor === null || head.number < known.number) return idle',
        'if (probed.known === null || probed.anchor === null) return idle',
      ],
      ['probed.known === null || probed.anchor', 'probed.anchor'],
      [
        `if (trusted === null) return idle
`,
        `if (trusted === null) return { did: 'idle', proven: known }
`,
      ],
      [
        `if (probed.known.hash !== known.hash) return idle
`,
        '',
      ],
      [
        `    dispute.confirm()
`,
        '',
      ],
      ["source === 'ids' || probed.logs?.length === 0 ||", 'probed.logs?.length === 0 ||'],
      ['probed.logs?.length === 0 || head.number === cursor?.number', 'probed.logs?.length === 0'],
      ['if (!probed.complete || !isQuiet) return', 'if (!isQuiet) return'],
      [
        `    verifiedHead = head
    const isNewer`,
        '    const isNewer',
      ],
      [
        `known.number > cursor.number
`,
        `known.number >= cursor.number
`,
      ],
      [
        'known.timestamp - cursor.timestamp >= SETTLE_EVERY_SECONDS',
        'known.timestamp - cursor.timestamp > SETTLE_EVERY_SECONDS',
      ],
      ['!(isOld || known.number === head.number)', '!isOld'],
      ['if (!isNewer || !(isOld || known.number === head.number)) return', 'if (!isNewer) return'],
      ["const protocol = source === 'ids' && isProtocolDue()", 'const protocol = false'],
      ["const protocol = source === 'ids' && isProtocolDue()", 'const protocol = isProtocolDue()'],
      ["const fees = source === 'logs' ? [] : null", 'const fees = null'],
      [
        'await commits.write(lease, { block: known, ...settled })',
        'await commits.write(lease, { block: head, ...settled })',
      ],
      ['cursor.number + 1n) * widthMargin <= width', 'cursor.number) * widthMargin <= width'],
      ['* widthMargin <= width', '* widthMargin < width'],
      ['? cursor.number + 1n : null', '? cursor.number : null'],
      ['const WIDTH_MARGIN = 4n', 'const WIDTH_MARGIN = 3n'],
      ['head.number < deployment.startBlock', 'head.number <= deployment.startBlock'],
      ['if (fault instanceof MissingRow) return { ...idle, head }', 'if (fault instanceof MissingRow) throw fault'],
      ['fault instanceof ChainMoved || fault instanceof DuplicateRow', 'fault instanceof ChainMoved'],
      ['if (anchor !== null) await dispute.resolve(anchor)', ''],
      ['const known = verifiedHead ?? anchor', 'const known = anchor'],
      [
        `    verifiedHead = null
    const probed`,
        '    const probed',
      ],
      ['anchor: anchor ?? known, last, logsFrom', 'anchor: known, last, logsFrom'],
      [
        `    if (done.did === 'idle') lastProbe = null
`,
        '',
      ],
      [
        "isReadingIds(progress) || !chain.status().hasLogs ? 'ids' : 'logs'",
        "!chain.status().hasLogs ? 'ids' : 'logs'",
      ],
      ['repair.problem() ?? dispute.problem()', 'dispute.problem()'],
      ['repair.problem() ?? dispute.problem()', 'repair.problem()'],
    ],
  },
  'src/indexer/fee-history.ts': {
    tests: ['test/indexer/fee-history.service.test.ts'],
    faults: [
      ['upTo.number >= cursor.number) return false', 'upTo.number > cursor.number) return false'],
      ['deployment.startBlock : upTo.number + 1n', 'deployment.startBlock : upTo.number'],
      ['deployment.startBlock : upTo.number + 1n', 'deployment.startBlock : upTo.number + 2n'],
      ['upTo !== null && before?.hash !== upTo.hash', 'upTo === null'],
      ['before?.hash !== upTo.hash', 'before !== null && before.hash !== upTo.hash'],
      [
        `if ((await dispute.resolve(upTo)) === null) throw new ChainMoved(\`block \${upTo.number} changed\`)
`,
        '',
      ],
      [
        `      await restartFees(database, chainId, progress)
      return true`,
        `      await restartFees(database, chainId, progress)
      return false`,
        'The next run of the job continues.',
      ],
      [
        `      await restartFees(database, chainId, progress)
`,
        '',
      ],
      [
        `if (block.number === cursor.number && block.hash !== cursor.hash)
      throw new ChainMoved(\`block \${cursor.number} changed\`)
`,
        '',
      ],
      [
        'await extendFees(database, chainId, progress, { from, block, fees })',
        'await extendFees(database, chainId, progress, { from, block, fees: [] })',
      ],
      ['!signal.aborted && chain.status().hasLogs', 'chain.status().hasLogs'],
      ['chain.status().hasLogs && (await', '(await'],
      [
        'if (!(fault instanceof ChainMoved || isUnavailable(fault))) throw fault',
        'if (!isUnavailable(fault)) throw fault',
      ],
      [
        'if (!(fault instanceof ChainMoved || isUnavailable(fault))) throw fault',
        'if (!(fault instanceof Error)) throw fault',
      ],
    ],
  },
  'src/indexer/read-by-id.ts': {
    tests: ['test/indexer/read-by-id.test.ts'],
    faults: [
      ['if (!outcome?.ok || !exists(outcome)) return null', 'if (!outcome?.ok) return null'],
      ['initialLiquidity: null', 'initialLiquidity: 0n'],
      ['premiumPaid, platformFeePaid: platformFee }', 'platformFeePaid: premiumPaid, platformFeePaid: platformFee }'],
      ['before === null ? 0n : before + 1n', 'before === null ? 1n : before + 1n'],
      ['before === null ? 0n : before + 1n', 'before === null ? 0n : before'],
      ['{ length: most }', '{ length: most + 1 }'],
      ['facts[0]?.id === 1n && before === null ? 1n : from', 'from'],
      ['const dense = facts.filter(({ id }, at) => id === begins + BigInt(at))', 'const dense = facts'],
      ['dense.length === facts.length && facts', 'facts'],
      ['&& facts.at(-1)?.id !== asked.at(-1)?.id', ''],
      ['continued.every(({ complete }) => complete)', 'continued.some(({ complete }) => complete)'],
    ],
  },
  'src/indexer/existence.ts': {
    tests: ['test/indexer/read-by-id.test.ts'],
    faults: [
      ['outcome?.ok === true && ownerOf(outcome.value) !== zeroAddress', 'outcome?.ok === true'],
      ['outcome.ok ? !exists(outcome) : isRevert(outcome.error)', '!exists(outcome)'],
      ['outcomes.every((outcome)', 'outcomes.some((outcome)'],
      ['id === null ? [0n, 1n]', 'id === null ? [0n]'],
      ['id === null ? [0n, 1n]', 'id === null ? [1n]'],
      [': [id + 1n]', ': [id + 2n]'],
      ['entities.find((_, at)', 'entities.findLast((_, at)'],
    ],
  },
  'src/indexer/probe.ts': {
    tests: ['test/indexer/read-by-id.test.ts'],
    faults: [
      ['{ blockHash: known.hash }', '{ blockHash: anchor.hash }'],
      ['anchor: getBlock(anchor.number)', 'anchor: getBlock(known.number)'],
      ['fromBlock: logsFrom })', 'fromBlock: logsFrom + 1n })'],
      [
        'outcome.value !== null && outcome.value.hash !== hash',
        'outcome.value !== null && outcome.value.hash === hash',
      ],
      ['outcome.ok && outcome.value !== null && outcome', 'outcome.ok && outcome'],
      ['denies(answer.known, known) || denies(answer.anchor, anchor)', 'denies(answer.known, known)'],
      ['denies(answer.known, known) || denies(answer.anchor, anchor)', 'denies(answer.anchor, anchor)'],
      [
        '  if (!outcomes.known.ok) throw toServiceError(outcomes.known.error)\n',
        '  if (!outcomes.known.ok) return null as never\n',
      ],
      [
        '  if (!outcomes.anchor.ok) throw toServiceError(outcomes.anchor.error)\n',
        '  if (!outcomes.anchor.ok) return null as never\n',
      ],
      ['complete: noneExists(outcomes.beyond)', 'complete: true'],
      ['logs?.ok === true ? logs.value : null', 'logs?.ok === true ? logs.value : []'],
    ],
  },
  'src/indexer/gaps.ts': {
    tests: ['test/indexer/gaps.test.ts'],
    faults: [
      ['id >= (ids[at - 1] ?? id)', 'id <= (ids[at - 1] ?? id)'],
      ['return isSorted ? ids : ids.sort(', 'return ids ?? ids.sort('],
      ['(a < b ? -1 : 1)', '(a > b ? -1 : 1)'],
      [
        'first !== undefined && before !== null && first <= before',
        'first !== undefined && before !== null && first < before',
      ],
      ['before === null ? 1n : before + 1n', 'before === null ? 0n : before + 1n'],
      ['if (id > next) return', 'if (id > next + 1n) return'],
      ['next = id + 1n', 'next += 1n', 'Repeated facts are left out before.'],
      ['last[kind] === null && has(kind, 1n)', 'has(kind, 1n)'],
      ['&& has(kind, 1n) && !has', '&& !has'],
      ['&& !has(kind, 0n)', ''],
      ['created[kind].at(-1) ?? last[kind]', 'created[kind].at(0) ?? last[kind]'],
      ['created[kind].at(-1) ?? last[kind]', 'last[kind]'],
      ['[...absentAfter(after), ...beforeFirst(last, facts)]', 'absentAfter(after)'],
      ['return gaps[0]', 'return gaps.at(-1)'],
    ],
  },
  'src/indexer/prefetch.ts': {
    tests: ['test/indexer/prefetch.test.ts'],
    faults: [
      ['const MAX_PREFETCHED = 3', 'const MAX_PREFETCHED = 4'],
      ['(queue.at(-1)?.upTo ?? block.number) + 1n', 'block.number + 1n'],
      ['queue.length < MAX_PREFETCHED && from <= head.number', 'from <= head.number'],
      ['&& from <= head.number', '&& from < head.number'],
      ['const end = from + width - 1n', 'const end = from + width'],
      ['end < head.number ? end : head.number', 'end'],
      ['from = upTo + 1n', 'from = upTo + 2n'],
      ['chain.deployment.startBlock : after.number + 1n', 'chain.deployment.startBlock : after.number'],
      ['queue[0]?.from === from ? queue : []', 'queue'],
      ['after !== null && range.before?.hash !== after.hash', 'false'],
      ['if (queue[0]?.from !== range.block.number + 1n) drop()', ''],
      ['queue[0]?.from === after.number + 1n', 'queue.length > 0'],
      [
        '      } catch (fault) {\n        drop()\n',
        '      } catch (fault) {\n',
        'The range after it begins at another block than the next request.',
      ],
      ['    queue = []\n', ''],
      ['    range.catch(() => {})\n', ''],
    ],
  },
  'src/indexer/follow.ts': {
    tests: ['test/indexer/follow.test.ts', 'test/indexer/follow.service.test.ts'],
    faults: [
      ['reported?.problem === problem && now', 'now'],
      ['now - reported.at < HEARTBEAT_EVERY_MS', 'now - reported.at <= HEARTBEAT_EVERY_MS'],
      ['      await holdLease(handle, current, leaseTtlMs)\n', ''],
      ['    reported = { at: now, problem }\n', ''],
      ['      .run((handle) => handle.execute(sql`SELECT`))\n', '      .run(async () => {})\n'],
      ['        extension = null\n', ''],
      ['      if (lease === null) return leaseTtlMs / 8\n', '      if (lease === null) return 600_000\n'],
      ['return leaseTtlMs / 8', 'return 0'],
      ['    faults = 0\n    if', '    if'],
      ["if (result.did !== 'idle') onWrite()", 'onWrite()'],
      ["if (result.did !== 'idle') onWrite()", "if (result.did === 'settled') onWrite()"],
      ["(result.did === 'advanced' && result.proven === null)", 'false'],
      ['return isBehind ? 0 : pollMs', 'return 0'],
      ['leaseTtlMs * EXTENDED_EVERY', 'leaseTtlMs * 10'],
      ['if (fault instanceof LeaseLost) lease = null\n', ''],
      ['      faults += 1\n', ''],
      ['if (isLogged(faults))\n', ''],
      ['  await extension\n', ''],
      ['await releaseLease(session, lease).catch(', 'await Promise.resolve().catch('],
    ],
  },
  'src/chain/head.ts': {
    tests: ['test/chain/head-decisions.test.ts', 'test/chain/head.test.ts'],
    faults: [
      ['const LOWER_PERSISTS_MS = 10_000', 'const LOWER_PERSISTS_MS = 9_000'],
      ['deps.isAlone || (nextReference', '(nextReference'],
      ['now - nextReference.since < REFERENCE_MS', 'now - nextReference.since > REFERENCE_MS'],
      ['    reference = nextReference\n', ''],
      [
        'past.value !== null && past.value.hash !== held?.hash',
        'past.value !== null && past.value.hash === held?.hash',
      ],
      [
        'if (contradicts(outcomes) === null) forkedSince = undefined',
        'if (contradicts(outcomes) === null) forkedSince = now',
      ],
      ['      forkedSince ??= now\n', '      forkedSince = now\n'],
      ['now - forkedSince < FORK_PERSISTS_MS', 'now - forkedSince <= FORK_PERSISTS_MS'],
      ['      nextReference = undefined\n', ''],
      ['latest.value.number < known.block.number', 'latest.value.number <= known.block.number'],
      ['isLower && now - known.reportedAt', 'now - known.reportedAt'],
      ['now - known.reportedAt < LOWER_PERSISTS_MS', 'now - known.requestedAt < LOWER_PERSISTS_MS'],
      ['known = { ...known, requestedAt: now }\n      return known.block', 'return known.block'],
      ['deps.now() - known.requestedAt <= deps.maxAgeMs', 'deps.now() - known.requestedAt < deps.maxAgeMs'],
      ['isRecent && known.block.number >= atLeast', 'isRecent'],
      ['isRecent && known.block.number >= atLeast', 'isRecent && known.block.number > atLeast'],
      ["fresh: () => once('latest', fetch)", "fresh: async () => known?.block ?? once('latest', fetch)"],
      ['      if (known?.block.hash !== block.hash) return\n', '      if (known === undefined) return\n'],
      ['dropped?.endpoint === endpoint && now', 'dropped !== undefined && now'],
      ['now - dropped.at < DROPPED_AGAIN_MS', 'now - dropped.at <= DROPPED_AGAIN_MS'],
      ['      dropped = { endpoint, at: now }\n', ''],
      ['at: now }\n      known = undefined', 'at: now }'],
    ],
  },
}
