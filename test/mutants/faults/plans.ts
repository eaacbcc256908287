import type { Faults } from '../fault.ts'

const TOTALS = 'test/plans/totals.test.ts'

export const plansFaults: Faults = {
  'src/plans/actions/buy-protection.ts': {
    tests: [
      'test/plans/checks.test.ts',
      'test/plans/draft-spending.test.ts',
      'test/plans/price.test.ts',
      'test/plans/summary.test.ts',
      TOTALS,
    ],
    faults: [
      ["creates: 'positionId'", "creates: 'depositId'"],
      ['return ofPool + feeAmount(ofPool, hedgerFeeRate)', 'return ofPool'],
      ['    premium,\n', ''],
      ['isSettled(facts) || isExpired(facts, ...at)', 'isExpired(facts, ...at)'],
      ["    { ...notSettled, profile: 'deployed' },\n", ''],
      ["    { code: 'pool_closed', fails: ({ core }) => core?.poolOpen === false },\n", ''],
      ['...(total !== null && { maxCost: maxCost as bigint })', '...({ maxCost: maxCost as bigint })'],
    ],
  },
  'src/plans/actions/claim-all.ts': {
    tests: ['test/plans/draft-steps.test.ts'],
    faults: [
      [
        'Number(a.kind === EARNINGS) - Number(b.kind === EARNINGS)',
        'Number(b.kind === EARNINGS) - Number(a.kind === EARNINGS)',
      ],
      ['const MAX_TRIED = 80', 'const MAX_TRIED = 79'],
      ['found.length - taken.length', '0'],
      ['for (const token of ofEvents) situation.chain.learnToken(token)', ''],
      [
        'eventIds: [...new Set(taken.map(({ eventId }) => BigInt(eventId)))]',
        'eventIds: taken.map(({ eventId }) => BigInt(eventId))',
      ],
      ["premiums: ['claim-premiums', claimPremiums]", "premiums: ['claim-premiums', withdrawCapital]"],
      ['isPartial: true', 'isPartial: false'],
    ],
  },
  'src/plans/actions/claim-payout.ts': {
    tests: ['test/plans/checks.test.ts', 'test/plans/actions.test.ts', 'test/plans/last-second.test.ts'],
    faults: [
      ["entity: 'position'", "entity: 'deposit'"],
      ['position?.status === CLAIMABLE ? position.payoutAmount : 0n', 'position?.payoutAmount ?? 0n'],
      ['stats.settledAt + GRACE - 1n', 'stats.settledAt + GRACE'],
      ['stats !== undefined && gross(of) > 0n ?', 'stats !== undefined ?'],
      [
        "code: 'already_claimed', fails: ({ position }) => position?.claimed === true",
        "code: 'already_claimed', fails: ({ position }) => position?.claimed === false",
      ],
      [
        "ownedBy('not_your_position', ({ position }) => position?.hedger)",
        "ownedBy('not_your_position', () => undefined)",
      ],
    ],
  },
  'src/plans/actions/claim-premiums.ts': {
    tests: ['test/plans/checks.test.ts', 'test/plans/actions.test.ts'],
    faults: [
      ['pays: { gross }', 'pays: { gross: () => null }'],
      ["[...ownDeposit, { code: 'no_premiums'", "[{ code: 'no_premiums'"],
      ['gross(facts) === 0n', 'gross(facts) <= 1n'],
    ],
  },
  'src/plans/actions/create-event.ts': {
    tests: [
      'test/plans/create-event.test.ts',
      'test/plans/request-body.test.ts',
      'test/plans/summary.test.ts',
      'test/plans/price.test.ts',
      TOTALS,
    ],
    faults: [
      ['attestation !== null || signed === false', 'attestation !== null'],
      ['blocking: signed === true', 'blocking: signed !== true'],
      ['BigInt(fixed.data.payoutCapFixed6)', 'BigInt(fixed.data.strikeFixed6)'],
      ['BigInt(attestation.expiresAt)', 'BigInt(attestation.quoteTimestamp)'],
      ['premiumRate: BigInt(premiumRateFixed6)', 'premiumRate: BigInt(fixed.data.initialRateFixed6)'],
      [
        '...(signed && { chainId, diamondAddress: diamond, creator })',
        '...(signed && { chainId, diamondAddress: creator, creator })',
      ],
      ['{ signed = true, ...range }', '{ signed = false, ...range }'],
      ['{ ...unsigned, ...defined(intent) }', '{ ...unsigned, ...intent }'],
      ['(intent[path] !== undefined) !== hasQuote', '(intent[path] !== undefined) === hasQuote'],
      ['...(hasQuote ? signatureFields : [])', ''],
      ['{ when: ({ issues }) => issues.length === 0 }', '{ when: () => true }'],
      ['eventCreationFee + (initialLiquidity as bigint)', 'initialLiquidity as bigint'],
      ["initialLiquidity === 0n ? ''", "initialLiquidity !== 0n ? ''"],
      ['formatAmount(premiumRate, 4)', 'formatAmount(premiumRate, 6)'],
    ],
  },
  'src/plans/actions/deposit.ts': {
    tests: ['test/plans/actions.test.ts', 'test/plans/checks.test.ts'],
    faults: [
      ['  spends: { total: ({ amount }) => amount as bigint },\n', ''],
      ['checks: [eventFound, notSettled]', 'checks: [eventFound]'],
    ],
  },
  'src/plans/actions/revoke-approval.ts': {
    tests: ['test/plans/planner.test.ts'],
    faults: [['token, 0n, situation', 'token, 1n, situation']],
  },
  'src/plans/actions/set-pool-settings.ts': {
    tests: ['test/plans/checks.test.ts', 'test/plans/summary.test.ts'],
    faults: [
      ['checks: [eventFound, ofCreator, notSettled]', 'checks: [eventFound, notSettled]'],
      ["isOpen === true ? 'open' : 'close'", "isExternal === true ? 'open' : 'close'"],
    ],
  },
  'src/plans/actions/submit-rate.ts': {
    tests: ['test/plans/checks.test.ts'],
    faults: [['fails: (...at) => !isExpired(...at)', 'fails: () => false']],
  },
  'src/plans/actions/withdraw-capital.ts': {
    tests: ['test/plans/checks.test.ts', 'test/plans/summary.test.ts'],
    faults: [
      ['[...ownDeposit, notOpen,', '[...ownDeposit,'],
      ['`withdraw the capital of deposit $', '`claim the premiums of deposit $'],
    ],
  },
  'src/plans/actions/withdraw-creator-earnings.ts': {
    tests: ['test/plans/checks.test.ts', 'test/plans/effects.test.ts'],
    faults: [
      ['gross: () => null', 'gross: ({ stats }) => stats?.creatorEarnings ?? 0n'],
      ['checks: [eventFound, ofCreator,', 'checks: [eventFound,'],
    ],
  },
  'src/plans/answer/amounts.ts': {
    tests: ['test/plans/effects.test.ts'],
    faults: [
      ['premiumPaid(step, rehearsal) ?? premium', 'premium'],
      ['amount < 0n ? 0n : amount', 'amount'],
      ['orZero(total - premium)', 'orZero(total)'],
      ['orZero(gross - net)', 'orZero(net - gross)'],
      ['paid.some(({ token }) => token !== first.token)', 'paid.some(({ token }) => token === first.token)'],
      ["fee: sum('fee'), net: sum('net')", "fee: sum('net'), net: sum('net')"],
      ['(sums.get(token) ?? 0n) + change', 'change'],
      ['token === undefined || amount === 0n', 'token === undefined'],
      ['listed(diamond, rehearsal?.ofProtocol ?? [])', 'listed(from, rehearsal?.ofProtocol ?? [])'],
      ['result?.ok !== true || token === undefined', 'token === undefined'],
    ],
  },
  'src/plans/answer/issues.ts': {
    tests: ['test/plans/issues.test.ts'],
    faults: [
      ['balance !== null && balance < total', 'balance !== null && balance <= total'],
      ['{has} and needs', '{need} and needs'],
      ['allowance, maxCost, approved', 'allowance, total, approved'],
      ['{ step: approve.id }', '{ step: approve.id, blocking: true }'],
      ['coins < cost', 'coins <= cost'],
      [
        'action !== null || rehearsal === null || rehearsal.answering.has(to)',
        'action !== null || rehearsal === null || !rehearsal.answering.has(to)',
      ],
      ["contradicted.by === 'configuration'", "contradicted.by !== 'configuration'"],
      ['steps.length > 0', 'steps.length > 1'],
      ["if (result.ok) return simulationRecord({ status: 'success', blockNumber }, name)", ''],
      ['approve !== undefined && allowance !== null', 'allowance !== null'],
    ],
  },
  'src/plans/answer/last-second.ts': {
    tests: ['test/plans/last-second.test.ts'],
    faults: [
      ['end < time ? time : end', 'end'],
      ['others.reduce(min, first)', 'first'],
    ],
  },
  'src/plans/answer/plan.ts': {
    tests: ['test/plans/plan.test.ts', TOTALS],
    faults: [
      ['hex(nonce + BigInt(nth))', 'hex(nonce)'],
      ['|| tip === null || isContract) return undefined', '|| tip === null) return undefined'],
      ['result?.ok === true ? result.gas', 'result !== undefined ? result.gas'],
      ['((action?.spends && price?.gas) ?? null)', 'null'],
      ['draft.remaining + working.length - kept.length', 'draft.remaining'],
      ['({ ...reason, blocking: false })', '({ ...reason })'],
      ['const kept = working.slice(0, MAX_CLAIMS)', 'const kept = working'],
      ['draft.isPartial && (reverts.length > 0 || steps.length > MAX_CLAIMS)', 'draft.isPartial && reverts.length > 0'],
      ['draft.validUntil ?? lastSecondOfClaims(steps, facts, time)', 'draft.validUntil'],
      ['issue.blocking && issue.code === code', 'issue.code !== code'],
      ['issue.blocking && issue.code === code', 'issue.code === code'],
      ['accountIssues(account, gasCost?.total ?? null,', 'accountIssues(account, gasCost?.execution ?? null,'],
      ['draft.validUntil >= time ? draft.validUntil : null', 'draft.validUntil > time ? draft.validUntil : null'],
      ['rehearsal !== null && (executable || force)', 'rehearsal !== null && executable'],
      ['(executable || force) && calls.length > 0', 'executable && calls.length > 0'],
      ['Math.floor(reading.readAt / 1_000)', 'reading.readAt'],
      ['total: gasCost.total.toString()', 'total: gasCost.execution.toString()'],
      ['Number(block.number) + 1', 'Number(block.number)'],
      ['...draft.issues,\n    ...money,', '...money,'],
      ['summaryOf(calls, {', 'summaryOf(calls.slice(-1), {'],
      ['maxPriorityFeePerGas: hex(tip)', 'maxPriorityFeePerGas: hex(maxFeePerGas)'],
      ["simulation.status === 'success' ? (gas?.toString() ?? null) : null", '(gas?.toString() ?? null)'],
    ],
  },
  'src/plans/answer/summary.ts': {
    tests: ['test/plans/summary.test.ts'],
    faults: [
      ['if (value === 0n) return', 'if (value === 1n) return'],
      ['token ?? main ?? {', 'main ?? token ?? {'],
      ['const MAX_PARTS = 5', 'const MAX_PARTS = 6'],
      ['rest > 0 ?', 'rest > 1 ?'],
      ['known.signBefore === null ? sentence :', 'known.signBefore !== null ? sentence :'],
    ],
  },
  'src/plans/draft/contents.ts': {
    tests: ['test/plans/plan.test.ts'],
    faults: [
      ['force: intent.force ?? false', 'force: false'],
      ["'token' in intent ?", "!('token' in intent) ?"],
      ['export const MAX_CLAIMS = 50', 'export const MAX_CLAIMS = 51'],
    ],
  },
  'src/plans/draft/definition.ts': {
    tests: ['test/plans/planner.test.ts'],
    faults: [['if (call.spends !== undefined) return draftSpending(situation, call)', '']],
  },
  'src/plans/draft/plain-steps.ts': {
    tests: ['test/plans/draft-steps.test.ts'],
    faults: [
      ['requests[nth]?.length', '1'],
      ['if (requests.flat().length === 0) return steps.map(() => ({}))', ''],
      ['[...tokensOf(situation.chain), ...tokens]', '[...tokensOf(situation.chain)]'],
    ],
  },
  'src/plans/draft/price.ts': {
    tests: ['test/plans/price.test.ts', TOTALS],
    faults: [
      ['if (facts.paymentToken !== undefined) return facts.paymentToken', ''],
      ['([, change]) => change < 0n', '([, change]) => change > 0n'],
      ['[MAX_UINT256, 0n, MAX_UINT256]', '[MAX_UINT256, MAX_UINT256, MAX_UINT256]'],
      ['if (named !== undefined && !isPriced && !isRepeat) return attempt([...tokens, named], true)', ''],
      [
        ' && !isRepeat) return attempt([...tokens, named], true)',
        ') return attempt([...tokens, named], named.length < 9)',
      ],
      [' && tokens.includes(facts.paymentToken))', ')'],
      ['change === null || change > 0n ? null : -change', 'change === null ? null : -change'],
      ['exact: spent !== null', 'exact: true'],
      ['allowance: held?.allowance ?? null', 'allowance: held?.balance ?? null'],
      ['rehearsal.steps[3 * nth + 2]?.ok === true', 'true'],
      ['rehearsal?.steps[3 * nth]?.ok === false', 'rehearsal?.steps[0]?.ok === false'],
      ['eventTokens.learn(deployment.chainId, eventId, facts.paymentToken)', '{}'],
      ['if (known !== undefined) return attempt([known])', ''],
      ['action.spends?.premium?.(body, facts) ?? null', 'null'],
      ['overrides: await chain.ampleBalances(tokens, from, at.blockHash)', 'overrides: {}'],
    ],
  },
  'src/plans/draft/request-body.ts': {
    tests: ['test/plans/request-body.test.ts'],
    faults: [
      ['integer(1, 86_400', 'integer(0, 86_400'],
      ["10_000,\n    'How far", "10_001,\n    'How far"],
      ['...(isLimited(call) && ofPurchases)', '...ofPurchases'],
      ['...(call.spends && ofSpending)', '...ofSpending'],
      ['!derived.includes(name)', 'true'],
      ["const derived = ['maxCost', 'deadline']", "const derived = ['maxCost']"],
    ],
  },
  'src/plans/draft/situation.ts': {
    tests: ['test/plans/planner.test.ts'],
    faults: [['({ ...intent, ...prepared.arguments })', '({ ...prepared.arguments, ...intent })']],
  },
  'src/plans/draft/spending.ts': {
    tests: ['test/plans/draft-spending.test.ts', TOTALS],
    faults: [
      ['allowance >= amount', 'allowance > amount'],
      ['needsReset && allowance !== 0n', 'needsReset', 'an allowance of 0 can be changed, so no reset is needed'],
      ["intent.approval === 'unlimited' ? MAX_UINT256 : amount", 'amount'],
      ['core.expiryDate - 1n', 'core.expiryDate'],
      ['end - time >= NEAR_SECONDS', 'end - time > NEAR_SECONDS'],
      ['end === null || end < time ||', 'end === null ||'],
      ['max(expiry - 1n, 0n)', 'expiry'],
      ['min(until ?? expiry,', 'max(until ?? expiry,'],
      ['min(total + mulDivDown(total, slack, BPS_ONE), MAX_UINT256)', 'total + mulDivDown(total, slack, BPS_ONE)'],
      ['BigInt(intent.maxCostBps ?? 0)', '0n'],
      ['max(min(wanted, end), time)', 'min(wanted, end)'],
      ['limited ? nearExpiry(end, time) : []', '[]'],
      ['intent.deadlineSeconds ?? DEADLINE_SECONDS', 'DEADLINE_SECONDS'],
      [
        'price === null ? [] : approvalsOf(price, maxCost, situation)',
        'price === null ? [] : approvalsOf(price, total, situation)',
      ],
      ["...(isReset ? [approval('reset-approval', token, 0n, deployment)] : []),", ''],
    ],
  },
  'src/plans/in-turns.ts': {
    tests: ['test/plans/in-turns.test.ts'],
    faults: [
      ['const answered = await answer\n    await turn()', 'const answered = await answer'],
      ['await turn()\n        return read(block)', 'return read(block)'],
      ['send: (batch, options) => after(chain.send(batch, options))', 'send: (batch) => after(chain.send(batch))'],
    ],
  },
  'src/plans/planner.ts': {
    tests: ['test/plans/planner.test.ts', 'test/plans/planner-queue.test.ts'],
    faults: [
      ['max(BigInt(Math.floor(Date.now() / 1_000)), timestamp + 1n)', 'timestamp + 1n'],
      ['named !== zeroAddress', 'true'],
      ['[...prepared.issues, ...drafted.issues]', 'drafted.issues'],
      ['{ isFresh: true }', '{ isFresh: false }'],
      ['namedTokens(intent).some((token) => chain.isForeign(token))', 'false'],
      ['waiting: 512', 'waiting: 511'],
      ['limited(run, disconnected, address)', 'limited(run, undefined, address)'],
    ],
  },
  'src/plans/rehearsal/created.ts': {
    tests: ['test/plans/effects.test.ts'],
    faults: [
      ["creates == null || creates === 'depositId'", 'creates == null'],
      ["creates === 'positionId' ? positionOf(id) : depositsOf(id)", 'depositsOf(id)'],
      ["result?.ok === true && result.data !== '0x'", 'result?.ok === true'],
      ['rehearsal?.steps.at(-1)?.ok === true', 'rehearsal !== null'],
    ],
  },
  'src/plans/rehearsal/exact-calls.ts': {
    tests: ['test/plans/exact-calls.test.ts'],
    faults: [
      ['further.length > 0 && more.length === 0', 'further.length > 1 && more.length === 0'],
      ['further.length > 0 && more.length === 0', 'further.length > 0'],
      ['left.splice(0, unread[nth]?.length ?? 0)', 'left.splice(0, 1)'],
      [
        'tokenOfEvent.get(eventOf(each) ?? 0n) ?? price?.token ?? null',
        'price?.token ?? tokenOfEvent.get(eventOf(each) ?? 0n) ?? null',
      ],
      ['each.core ?? cores.get(eventId)', 'cores.get(eventId)'],
      ['for (const [id, token] of tokenOfEvent) eventTokens.learn(chainId, id, token)', ''],
      ['[...new Set([...draft.tokens, ...met, ...more])]', '[...new Set([...draft.tokens, ...more])]'],
      ['...(ofEvent && { stats: ofEvent })', ''],
    ],
  },
  'src/plans/rehearsal/gas.ts': {
    tests: ['test/plans/gas.test.ts', TOTALS],
    faults: [
      ['const ENVELOPE_BYTES = 120', 'const ENVELOPE_BYTES = 0'],
      ['none != null && some != null', 'none != null || some != null'],
      ['max(0n, some - none)', 'some - none'],
      ['constant != null && scalar != null', 'constant != null'],
      ['{ base: constant, rate: scalar }', '{ base: scalar, rate: constant }'],
      ["code.value !== '0x' && !code.value.startsWith(DELEGATION)", "code.value !== '0x'"],
      ['baseFee.value * BASE_FEE_FACTOR + tip.value', 'baseFee.value * BASE_FEE_FACTOR'],
      ['const BASE_FEE_FACTOR = 2n', 'const BASE_FEE_FACTOR = 1n'],
      ['sum + (fee.ok ? (fee.value ?? 0n) : 0n)', 'fee.ok ? (fee.value ?? 0n) : sum'],
      ['(gas * 13n) / 10n', '(gas * 12n) / 10n'],
      ['gasLimits.includes(null)', 'gasLimits.every((limit) => limit === null)'],
      ['sum + base + (gas * rate) / GAS_PER_RATE', 'sum + (gas * rate) / GAS_PER_RATE'],
      ['total: execution + dataFee + operatorFee', 'total: execution + operatorFee'],
    ],
  },
  'src/plans/rehearsal/signed-quote.ts': {
    tests: ['test/plans/signed-quote.test.ts'],
    faults: [
      ["if (signer === zeroAddress) return profiles[profile].needsSigner ? 'no_pricing_signer' : null", ''],
      ['profiles[profile].needsSigner', 'true'],
      ['quoteTimestamp > time', 'quoteTimestamp >= time'],
      [
        'time > quoteTimestamp + BigInt(QUOTE_VALIDITY_SECONDS)',
        'time >= quoteTimestamp + BigInt(QUOTE_VALIDITY_SECONDS)',
      ],
      ["if (isNonceUsed) return 'quote_nonce_used'", ''],
      ['by !== null && isAddressEqual(by, getAddress(signer))', 'by !== null'],
      ["if (size(signature) !== 65) return 'bad_signature_length'", ''],
    ],
  },
  'src/plans/rehearsal/unsimulated.ts': {
    tests: ['test/plans/unsimulated.test.ts'],
    faults: [
      ["createEvent.encode([{ ...termsIn(data), signature: '0x' }])", 'data'],
      [
        "code === 'insufficient_allowance' && action?.spends !== undefined && hasApproval(draft)",
        'action?.spends !== undefined && hasApproval(draft)',
      ],
      [
        "code === 'insufficient_allowance' && action?.spends !== undefined && hasApproval(draft)",
        "code === 'insufficient_allowance' && action?.spends !== undefined",
      ],
      ['isToken && (draft.price?.allowance ?? 0n) > 0n', 'isToken'],
      ['price !== null && configuredTokens', 'configuredTokens'],
      ['isAddressEqual(token, price.token))', 'token !== price.token)'],
      [
        'wordOf({ ok: true, data: outcome.value as Hex }) !== null ? [] : [notAToken(id, to)]',
        'outcome.value !== null ? [] : [notAToken(id, to)]',
      ],
      ['transfer.encode([context.deployment.diamond, amount])', 'transfer.encode([from, amount])'],
      ["outcome.value !== '0x' && wordOf", "outcome.value === '0x' || wordOf"],
      ['terms.expiryDate <= time', 'terms.expiryDate < time'],
      ['if (!isSigned) return []', ''],
      ['isNonceUsed: used.value === true', 'isNonceUsed: false'],
      ['signer?.ok !== true || used?.ok !== true', 'signer?.ok !== true'],
      [
        "step.action?.creates === 'eventId' ? [termsProbe(step, context)] : []",
        "step.action?.creates === 'eventId' ? [] : []",
      ],
      [
        'step.action?.spends !== undefined && hasApproval(context.draft) && price !== null',
        'step.action?.spends !== undefined && price !== null',
        'with an allowance the call itself shows what the transfer does',
      ],
      ['judge(left.splice(0, requests.length))', 'judge(left)'],
      [
        'transferProbe(step.id, price.token, price.total, context)',
        'transferProbe(step.id, price.token, price.balance ?? 0n, context)',
      ],
      [
        'outcome === undefined || !isFailedCall(outcome.error)) return [unanswered(id)]\n      const { code, reason, hint } = revertOf(outcome.error, transaction.function)',
        'outcome === undefined) return [unanswered(id)]\n      const { code, reason, hint } = revertOf(outcome.error, transaction.function)',
      ],
    ],
  },
  'src/plans/steps/checks.ts': {
    tests: ['test/plans/checks.test.ts'],
    faults: [
      ['time >= core.expiryDate', 'time > core.expiryDate'],
      ['core !== undefined && core.status !== OPEN', 'core !== undefined && core.status === OPEN'],
      ['owner !== undefined && !isAddressEqual(owner, from)', 'owner !== undefined && isAddressEqual(owner, from)'],
      ['(check.profile ?? profile) === profile && check', 'check'],
    ],
  },
  'src/plans/steps/event-tokens.ts': {
    tests: ['test/plans/event-tokens.test.ts'],
    faults: [
      ['known: (chainId, eventId) => tokens.get(`$', 'known: (chainId, eventId) => tokens.get(`8453 $'],
      ['chains.get(chainId)?.learnToken(token)', ''],
    ],
  },
  'src/plans/steps/facts.ts': {
    tests: ['test/plans/facts.test.ts'],
    faults: [
      ['core?.id ?? deposit?.eventId ?? position?.eventId ?? 0n', 'core?.id ?? deposit?.id ?? position?.eventId ?? 0n'],
      ['eventId === 0n ? null : eventId', 'eventId'],
      ['range === undefined || core.id === 0n', 'range === undefined'],
      ["['deposit', 'pending']", "['pending', 'deposit']", 'the order of the requests is also that of the answers'],
      [
        'outcomes[at]?.ok ? [[name, outcomes[at].value]] : []',
        'outcomes[0]?.ok && outcomes[at]?.ok ? [[name, outcomes[0].value]] : []',
      ],
    ],
  },
  'src/plans/steps/issue.ts': {
    tests: ['test/plans/issues.test.ts', 'test/plans/checks.test.ts', 'test/api/openapi/served.test.ts'],
    faults: [
      ['blocking: true, step })', 'step })'],
      ['have: Decimal.optional()', 'have: Decimal'],
      ['blocking: false,\n  ...more', '...more,\n  blocking: false'],
    ],
  },
  'src/plans/steps/rehearse.ts': {
    tests: ['test/plans/rehearse.test.ts', TOTALS],
    faults: [
      ['result.data.length === 66', 'result.data.length >= 66'],
      ['[[token, to - from]]', '[[token, from - to]]'],
      ['    last = next\n', ''],
      ['wordOf(last[nth]) !== null', 'wordOf(before[nth]) !== null'],
      ['changesOf(tokens, before, take(tokens.length))', 'changesOf(tokens, last, take(tokens.length))'],
      ['{ from, calls, overrides, ...at }', '{ from, calls, overrides: {}, ...at }'],
    ],
  },
  'src/plans/steps/step.ts': {
    tests: ['test/plans/step.test.ts'],
    faults: [
      ['spender: diamond, amount', 'spender: token, amount'],
      ['({ to, value: BigInt(value), data })', '({ to, value: 0n, data: "0x" as const })'],
      [
        "kind !== null && typeof id === 'bigint' ? { kind, id } : null",
        "typeof id === 'bigint' ? { kind: kind ?? 'event', id } : null",
      ],
    ],
  },
  'src/tx/build.ts': {
    tests: ['test/tx/build.test.ts'],
    faults: [
      ['if (body.from === undefined) return call', ''],
      ["estimatedGas: simulated.status === 'success' ? simulated.gas.toString() : null", 'estimatedGas: null'],
      [
        'chain.simulate({ from: body.from, to: call.to, data: call.data }, callerOf?.())',
        'chain.simulate({ from: body.from, to: call.to, data: call.data })',
      ],
      ["uint8: { type: 'integer' }", "uint8: { type: 'string' }"],
      ["type.endsWith(']') ? { type: 'string' } : PLAIN", 'PLAIN'],
      ['encode(builder, chain.deployment.diamond, body)', 'encode(builder, chain.deployment.usdc, body)'],
      ["reason: { type: 'string', nullable: true }", 'reason: { ...PLAIN, nullable: true }'],
    ],
  },
  'src/tx/builders.ts': {
    tests: ['test/tx/compile.test.ts', 'test/tx/builders.test.ts'],
    faults: [
      ["names: { expiryDate: 'expiry' }", 'names: {}'],
      ["path: '/tx/hedge/pause', function: 'pause'", "path: '/tx/hedge/pause', function: 'unpause'"],
      ["names: { diamondCut: 'cuts', calldata: 'initData' }", "names: { diamondCut: 'cuts' }"],
      ['bodyLimit: 262_144', 'bodyLimit: 26_214'],
      ["builder.target === 'token' ? [] : [builder.function]", '[builder.function]'],
    ],
  },
  'src/tx/compile.ts': {
    tests: ['test/tx/compile.test.ts', 'test/tx/builders.test.ts'],
    faults: [
      ['const MAX_STRUCTS = 100', 'const MAX_STRUCTS = 101'],
      ['const MAX_SCALARS = 500', 'const MAX_SCALARS = 499'],
      ["name.endsWith('Id') ? BodyInteger", "name.startsWith('Id') ? BodyInteger"],
      [
        'if (body.token === undefined) throw new TypeError',
        'if (body.token === undefined) return diamond\n      if (false) throw new TypeError',
      ],
      ['note?.unit === undefined ? codecs[type] : uints[note.unit]', 'codecs[type]'],
      [
        'if (codec === undefined) throw new TypeError',
        'if (codec === undefined) return z.unknown()\n  if (false) throw new TypeError',
        'no function of the ABI has an argument of another type',
      ],
      [
        "inputs.length === 1 && first?.type === 'tuple'",
        "first?.type === 'tuple'",
        'no function takes a struct with further arguments',
      ],
      ['item.name === builder.function', 'item.name.startsWith(builder.function)'],
    ],
  },
  'src/tx/compiled.ts': {
    tests: ['test/tx/compile.test.ts'],
    faults: [['builder === undefined', 'name === ""']],
  },
  'src/tx/decode-call.ts': {
    tests: ['test/tx/decode-call.test.ts'],
    faults: [
      ["(found.builder.target ?? 'diamond') !== target", 'false'],
      ['builder.names?.[bare] ?? bare', 'bare'],
      ['const named = isStruct', 'const named = false'],
    ],
  },
  'src/tx/arguments.ts': {
    tests: ['test/tx/arguments.test.ts'],
    faults: [
      ["payoutCap: rate('Rate at which the payout stops", "payoutCap: amount('Rate at which the payout stops"],
      ["deadline: seconds('Last second", "deadline: amount('Last second"],
      ["notional: amount('Protected", "notional: seconds('Protected"],
    ],
  },
  'src/tx/relay.ts': {
    tests: ['test/tx/relay.test.ts'],
    faults: [
      ['if (extra > 0) throw', 'if (extra > 1) throw'],
      ['if (v !== null) {', 'if (v === 30n) {'],
      [
        'signedChain != null && signedChain !== BigInt(chainId)',
        'signedChain !== null && signedChain !== BigInt(chainId)',
      ],
      ['targetOf(to, deployment) !== null', 'true'],
      ['rejectIfReverts && warning !== null', 'warning !== null'],
      ['if (call !== null) onSent?.({ ...call, hash })', ''],
      ['simulated: simulated !== null, warning', 'simulated: call !== null, warning'],
      ['signedChain === null ? [NO_CHAIN_ID] : []', 'signedChain == null ? [NO_CHAIN_ID] : []'],
      ['chain.simulateSigned({ ...call, hash }, caller)', 'chain.simulateSigned({ ...call, hash })'],
      ['chain.broadcast({ bytes: signedTx, hash }, caller)', 'chain.broadcast({ bytes: signedTx, hash })'],
      ['failure && revertOf(failure, called?.function)', 'failure && revertOf(failure)'],
      ['text.length % 2 === 0', 'text.length % 2 >= 0'],
      ['.max(MAX_TX_HEX, {', '.max(MAX_TX_HEX - 1, {'],
    ],
  },
  'src/tx/signed-call.ts': {
    tests: ['test/tx/signed-call.test.ts'],
    faults: [
      ['content.length < 56', 'content.length <= 56'],
      ['if (content === undefined) return null', 'if (content === undefined) throw new Error()'],
      ['type === null ? (v + 1n) % 2n : v', 'type === null ? v % 2n : v'],
      [
        'fields?.length !== layout.count || transaction.length % 2 === 1',
        'fields?.length !== layout.count',
        'the odd digit is not part of the bytes, and the list of fields no longer fills them',
      ],
      ['target?.length !== 20', 'target === undefined || target === null'],
      ['2: { nonce: 1, gas: 4, to: 5, count: 12 }', '2: { nonce: 1, gas: 3, to: 5, count: 12 }'],
      ['Math.max(0, (bytes[start] ?? 0) - 0xf7)', '1'],
    ],
  },
  'src/tx/signed-for.ts': {
    tests: ['test/tx/signed-for.test.ts'],
    faults: [
      ['head < 0x80', 'head <= 0x80'],
      ['const isList = head >= 0xc0', 'const isList = head > 0xc0'],
      ['Math.max(0, short - 55)', 'Math.max(0, short - 56)'],
      ['fields.length === MAX_FIELDS', 'fields.length > MAX_FIELDS'],
      ['list?.end === bytes.length ? list.fields : undefined', 'list?.fields'],
      ['field.end - field.start > 32', 'field.end - field.start > 31'],
      ['if (v >= 35n) return', 'if (v >= 37n) return'],
      ['if (v >= 35n) return', 'if (v >= 29n) return'],
      ['v === 27n || v === 28n ? null', 'v === 28n ? null'],
      ['signature?.isSigned === false ? signature.v : ', ''],
      ['signature?.isSigned === true && chainOfV', 'signature !== undefined && chainOfV'],
      ['r !== 0n || s !== 0n', 's !== 0n'],
      ['chainId === 0n ? undefined : chainId', 'chainId'],
      ['3: [14, 4, 5]', '3: [14, 4]'],
      ['start + length > end', 'start + length >= end'],
      ['lengthBytes > 4', 'lengthBytes > 3'],
    ],
  },
  'src/tx/simulation.ts': {
    tests: ['test/tx/simulation.test.ts'],
    faults: [
      ['at === null ? null : clamped(at)', 'at === null ? null : Number(at)'],
      [
        "status === 'reverted' ? revertOf(simulated.error, functionName) : NOTHING",
        "status === 'reverted' ? revertOf(simulated.error) : NOTHING",
      ],
      [
        "if (status === 'unavailable') return { status, ...NOTHING, blockNumber: null }",
        "if (status === 'unavailable') return { status: 'success', ...NOTHING, blockNumber: null }",
      ],
    ],
  },
  'src/pricing/chain-times.ts': {
    tests: ['test/pricing/chain-times.test.ts'],
    faults: [
      ['Math.abs(ahead) <= MAX_SKEW_SECONDS', 'Math.abs(ahead) < MAX_SKEW_SECONDS'],
      ['elapsed() - reading.readAt <= MAX_AGE_MS', 'elapsed() - reading.readAt < MAX_AGE_MS'],
      ['other !== undefined && isClockInStep(other)', 'other !== undefined'],
    ],
  },
  'src/pricing/quotes/premium.ts': {
    tests: ['test/pricing/premium.test.ts'],
    faults: [
      ['widthOf(range) * ONE <= MAX_LEVERAGE', 'widthOf(range) * ONE < MAX_LEVERAGE'],
      ['range.initialRate * premiumRate <= widthOf', 'range.initialRate * premiumRate < widthOf'],
      ['value * 1e6 + 0.5', 'value * 1e6'],
    ],
  },
  'src/pricing/tiers.ts': {
    tests: ['test/pricing/tiers.test.ts'],
    faults: [["{ tier: 'pegged', direction: -1 }", "{ tier: 'pegged', direction: 1 }"]],
  },
  'src/pricing/quotes/signing.ts': {
    tests: ['test/pricing/signing.test.ts'],
    faults: [['Math.min(asOf, newestBlock)', 'Math.max(asOf, newestBlock)']],
  },
  'src/protocol/attestation.ts': {
    tests: ['test/protocol/attestation.test.ts'],
    faults: [['s > MAX_S || (v !== 27', 's >= MAX_S + 2n ** 255n || (v !== 27']],
  },
  'src/protocol/payoff.ts': {
    tests: ['test/protocol/payoff.test.ts'],
    faults: [
      ['settlement >= strike : settlement <= strike', 'settlement > strike : settlement <= strike'],
      ['((free + 1n) * range.initialRate - 1n)', '(free * range.initialRate)'],
    ],
  },
  'src/protocol/abi/receipt-logs.ts': {
    tests: ['test/protocol/receipt-logs.test.ts'],
    faults: [
      ['success !== false', 'success === false'],
      ['lower(log.address) === lower(diamond) && ofProtocol', 'ofProtocol'],
      ['lower(log.address) === lower(diamond) && ofProtocol', 'log.address === diamond && ofProtocol'],
      ['&& ofProtocol(log) === null)', ')'],
      ['2 + MAX_UNKNOWN_BYTES * 2', 'MAX_UNKNOWN_BYTES * 2'],
      ['(data.length - shown.length) / 2', 'data.length - shown.length'],
      ['createdIncomplete: unknown.length > 0', 'createdIncomplete: unknown.length > 1'],
      ['unknown.slice(0, MAX_UNKNOWN_LOGS)', 'unknown'],
      ['unknown.length - MAX_UNKNOWN_LOGS', 'unknown.length'],
      ['Math.max(0, unknown.length - MAX', '(unknown.length - MAX'],
    ],
  },
}
