import type { Faults } from '../fault.ts'

const route = (name: string): readonly string[] => [`test/api/routes/${name}.test.ts`]
const client = ['test/api/client.test.ts']

export const routeFaults: Faults = {
  'src/api/routes/transactions.ts': {
    tests: route('records'),
    faults: [
      ["data.finality === 'finalized' && data.indexed", 'data.indexed'],
      [' && data.indexed &&', ' &&'],
      [' && data.revert?.exact !== false', ''],
      ['data.revert?.exact !== false', 'data.revert?.exact === true'],
      ['request.query.waitMs ?? 0', '0'],
      ['...freshnessHeaders(freshness), ', ''],
    ],
  },
  'src/api/routes/reverts.ts': {
    tests: route('records'),
    faults: [
      ['codes.every(', 'codes.some('],
      ["    reply.header('cache-control', SETTLED)\n", ''],
      ['.max(MAX_CODE, { error: codeError })', '.max(MAX_CODE + 1, { error: codeError })'],
      ['.max(2 + 2 * MAX_BYTES, { error: dataError })', '.max(4 + 2 * MAX_BYTES, { error: dataError })'],
      ['{2})*$/', '{1})*$/'],
    ],
  },
  'src/api/routes/me.ts': {
    tests: route('records'),
    faults: [
      ['=*)$/i', '=*)$/'],
      ['/^Bearer +', '/Bearer +'],
      ["'cache-control': 'no-store', ", ''],
      [", vary: 'authorization'", ''],
      [
        "  if (token === undefined) throw unauthorized('the Authorization header holds no bearer token')\n  return token",
        "  return token ?? ''",
      ],
    ],
  },
  'src/api/routes/plans.ts': {
    tests: route('records'),
    faults: [
      ["      reply.header('cache-control', 'no-store')\n", ''],
      ['await plan(name, request.body,', "await plan('claim-all', request.body,"],
    ],
  },
  'src/api/routes/health.ts': {
    tests: [...route('health'), ...route('status')],
    faults: [
      ["    if (draining.aborted) throw unavailable('this process is about to stop')\n", ''],
      ['unlimited: true', 'unlimited: false'],
      [
        'return { chainId, indexedBlock: Number(indexedBlock), lagSeconds }',
        'return { chainId, indexedBlock: lagSeconds, lagSeconds }',
      ],
      ['          if (!isUnavailable(fault)) throw fault\n', ''],
      ['Promise.all([reading, chain.refresh()])', 'Promise.all([reading])'],
      ['if (!isKnown && fault) throw fault', 'if (fault) throw fault'],
      ['    if (!isKnown && fault) throw fault\n', ''],
      ['height !== null', 'height === null'],
      ['isLimitShared() ? []', '!isLimitShared() ? []'],
      ['.catch(nullIfUnavailable)', ''],
    ],
  },
  'src/api/routes/landing.ts': {
    tests: route('health'),
    faults: [
      ["['application/json', 'text/html']", "['text/html', 'application/json']"],
      ["accept = '*/*'", "accept = 'text/html'"],
      ['  if (!isUnavailable(fault)) throw fault\n', ''],
      ["reply.header('content-security-policy', PAGE_POLICY).type", 'reply.type'],
    ],
  },
  'src/api/routes/changes.ts': {
    tests: route('feeds'),
    faults: [
      [
        'resumedFrom(request, query.lastEventId, cursorOf)?.cursor ?? query.since',
        'query.since ?? resumedFrom(request, query.lastEventId, cursorOf)?.cursor',
      ],
      ['      if (query.lastEventId !== undefined) throw noLastEventId()\n', ''],
      ['      if (isStream(headers.accept)) return sendStream(request, reply)\n', ''],
      ['filterOf(query), query.limit', 'filterOf(query), 100'],
      ['turns.long(clientOf', 'turns.page(clientOf'],
      ['bodyLimit: SUBJECTS_LIMIT', 'bodyLimit: 2 * SUBJECTS_LIMIT'],
      ["      reply.header('cache-control', 'no-store')\n      if", '      if'],
      ['resume(from, filter)', "resume('now', filter)"],
    ],
  },
  'src/api/routes/settlements.ts': {
    tests: route('feeds'),
    faults: [
      ['resumed?.cursor ?? query.since', 'query.since ?? resumed?.cursor'],
      [', resumed?.name)', ')'],
      ["query.finality ?? 'latest'", "'latest'"],
      ["query.since !== 'now' && (await", '(await'],
      ["query.since !== 'now' && (await", "query.since === 'now' && (await"],
      ['      cache.tag(request, reply, freshness, LAG_MAX_AGE_MS)\n', ''],
      ['freshness, LAG_MAX_AGE_MS)', 'freshness, Number.POSITIVE_INFINITY)'],
      ['      if (query.lastEventId !== undefined) throw noLastEventId()\n', ''],
      ['if (wallets !== undefined) throw', 'if (wallets === undefined) throw'],
      ["...freshnessHeaders(freshness), 'cache-control'", "'cache-control'"],
      ['feedOf(chainIds, wallets), request', 'feedOf([], wallets), request'],
      ['it.chainId === item.chainId && it.eventId === item.eventId', 'it.eventId === item.eventId'],
      ['Math.max(...page', 'Math.min(...page'],
    ],
  },
  'src/api/streams/changes.ts': {
    tests: route('feeds'),
    faults: [
      ['      epoch = page.next.epoch\n', ''],
      ['      epoch = next.epoch\n', ''],
      ['.toSorted((a, b) => a.seq - b.seq)', ''],
      ['isReset(found) || types', 'types'],
      ['chainIds.includes(found.chainId) && ', ''],
      ["reason === 'other_history'", 'true'],
      ['if (from === undefined) return { after: 0 }', 'if (from === undefined) return { after: next.seq }'],
      ["if (from === 'now') return { after: next.seq }", "if (from === 'now') return { after: 0 }"],
      ['at < missed.length - 1 ? from : next', 'next'],
      ['at < missed.length - 1', 'at <= missed.length - 1'],
      ['id: cursorText(from), text', 'id: cursorText(next), text'],
      ['hasMore: page.hasMore', 'hasMore: false'],
      ['filter, 0)', 'filter, 1)'],
    ],
  },
  'src/api/streams/settlements.ts': {
    tests: route('feeds'),
    faults: [
      ['found.length === limit', 'found.length > limit'],
      ['id === stored.chainId', 'id !== stored.chainId'],
      ['      (eventIds === undefined || eventIds.includes(stored.eventId)) &&\n', ''],
      ['triggered === undefined || ', ''],
      ['all: { chainIds, isFinal }', 'all: { chainIds }'],
      ['changes.version(feed)', 'changes.position()'],
      ['item.type}', "'settled'}"],
    ],
  },
  'src/api/client.ts': {
    tests: [...client, 'test/api/client-address.test.ts'],
    faults: [
      ['    hop < trustedProxies', '    hop <= trustedProxies'],
      ['  if (known !== undefined) return known\n', ''],
      ['  signals.set(socket, controller.signal)\n', ''],
      ['  if (socket.destroyed) controller.abort(DISCONNECTED)\n  else socket', '  socket'],
      ['controller.abort(DISCONNECTED))', 'controller.abort())'],
      [', { signal: disconnectionOf(response.req.socket) })', ')'],
      ['.then(end, end)', '.then(end)'],
      ["once(response, 'close',", "once(response, 'finish',"],
      [
        'trustedProxies === 0 ? request.socket.remoteAddress',
        'trustedProxies < 0 ? request.socket.remoteAddress',
        'no proxy is trusted, so the library returns the address of the connection too',
      ],
      [".trim().split('%', 1)", ".split('%', 1)"],
      [
        'reported.slice(0, MAX_REPORTED)',
        'reported',
        'a longer text holds no address: only the time to reject it differs',
      ],
      ['[text, text.replace(PORT,', '[text.replace(PORT,'],
      [': normalizeIP(address)', ': address'],
    ],
  },
  'src/api/access.ts': {
    tests: client,
    faults: [
      ['{1,128}$/', '{1,129}$/'],
      ["typeof given === 'string' && ALLOWED.test(given)", "typeof given === 'string'"],
      ["if (status !== 'left') lines", 'lines'],
      ['    observe(ended)\n', ''],
      ['Math.round(ms)', 'Math.floor(ms)'],
      ['/^[0-9a-f]{2}-', '/[0-9a-f]{2}-'],
    ],
  },
  'src/api/link.ts': {
    tests: [...client, 'test/api/link.test.ts'],
    faults: [
      ["path.split('/').length - 2", "path.split('/').length - 1"],
      ['folders > MAX_DEPTH', 'folders >= MAX_DEPTH'],
      ["folders === 0 ? './' : ", ''],
      ['link.length <= MAX_LINK', 'link.length < MAX_LINK'],
      ["name !== 'cursor' && ", ''],
      [' && !isIgnored(name)', ''],
      ["query.join('?')", "query.join('')"],
      ['if (cursor == null)', 'if (cursor === null)'],
    ],
  },
  'src/api/accept.ts': {
    tests: ['test/api/accept.test.ts'],
    faults: [
      ['header.length <= MAX_HEADER_LENGTH', 'header.length < MAX_HEADER_LENGTH'],
      ['    if (known !== undefined) return known\n', ''],
      ['{ max: MAX_HEADERS }', '{ max: MAX_HEADERS / 2 }'],
      ["accept.replace(PARAMETER, '')", 'accept'],
      ["['application/json', STREAM]", "[STREAM, 'application/json']"],
      [
        'accept !== undefined && prefersStream(accept)',
        "prefersStream(accept ?? '*/*')",
        'JSON comes first among equals, so a client that accepts everything gets it',
      ],
      ['(?!\\s*q', '(?!q'],
    ],
  },
  'src/api/if-none-match.ts': {
    tests: ['test/api/if-none-match.test.ts', 'test/api/asset.test.ts'],
    faults: [
      ['){0,2}$/i', '){0,1}$/i'],
      ['|deflate|', '|'],
      ["text === '*' ? [text] : []", '[]'],
      ['return [tag + appended]', 'return [tag]'],
      ['given.startsWith(own) && ', ''],
      ['/^(?:W\\/)?"', '/^(?:W\\/)"'],
    ],
  },
  'src/api/asset.ts': {
    tests: ['test/api/asset.test.ts'],
    faults: [
      ['identity.length < THRESHOLD', 'identity.length <= THRESHOLD'],
      ['version === hash ? IMMUTABLE', 'version !== undefined ? IMMUTABLE'],
      ["if (encoding !== 'identity') reply.header('content-encoding', encoding)", ''],
      ["?? 'identity'\n", "?? 'gzip'\n"],
      ["tag === '*' || ", ''],
      ['accepted.find((it) => bodies[it] !== undefined)', 'accepted[0]'],
      ['() => cache.forceFetch(type)', '() => assetOf(type, Buffer.alloc(0))'],
      ["vary: 'accept-encoding', ", ''],
    ],
  },
  'src/api/reverted.ts': {
    tests: client,
    faults: [
      ['atLeast?.isReverted !== true', 'atLeast === null'],
      ["  reply.header('x-transaction', 'reverted')\n", ''],
    ],
  },
}
