import type { Faults } from '../fault.ts'

/** Faults of settings, and of what processes are composed of. */
export const composeFaults: Faults = {
  'src/config/parts.ts': {
    tests: ['test/compose/settings.test.ts'],
    faults: [
      ['maxStreams: config.MAX_STREAMS,', 'maxStreams: config.MAX_WAITS,'],
      ['config.MAX_STREAMS_PER_CLIENT', 'config.MAX_WAITS_PER_CLIENT'],
      ['connections: config.API_POOL_SIZE', 'connections: config.MAX_STREAMS'],
      ['statementTimeoutMs: config.API_QUERY_TIMEOUT_MS', 'statementTimeoutMs: config.IDENTITY_TIMEOUT_MS'],
      ['timeoutMs: config.ENGINE_TIMEOUT_MS', 'timeoutMs: config.IDENTITY_TIMEOUT_MS'],
      ['config.DEFAULT_CHAIN_ID ?? config.CHAINS[0]', 'config.CHAINS[0]'],
      ["NODE_ENV === 'production'", "NODE_ENV !== 'production'"],
      ['ecbUrl: config.ENGINE_ECB_URL', 'ecbUrl: config.ENGINE_FRED_URL'],
      ['usdRateUrl: config.ENGINE_USD_RATE_URL', 'usdRateUrl: config.ENGINE_ECB_URL'],
      ['USDC: it.USDC_DECIMALS', 'USDC: it.USDT_DECIMALS ?? 0'],
      ['usdt: it.USDT_ADDRESS ?? null', 'usdt: it.USDC_ADDRESS'],
      ['diamond === undefined ? [] : ', 'diamond === null ? [] : '],
      ["if (name === 'RPC_URLS') return texts.flatMap(partsOf)\n", ''],
      ["name.endsWith('PRIVATE_KEY') ? texts : ", ''],
      ['maxPageBytes: config.PAGE_CACHE_BYTES', 'maxPageBytes: config.MAX_UNREAD_BYTES'],
    ],
  },
  'src/config/codecs.ts': {
    tests: ['test/config.test.ts'],
    faults: [
      ['value >= min && value <= max', 'value > min && value <= max'],
      ['value >= min && value <= max', 'value >= min && value < max'],
      ['if (ids.length > max)', 'if (ids.length >= max)'],
      ['ids.indexOf(id) !== at', 'false'],
      ['Number(text) > 0 && ', ''],
      ['Number(text) <= MAX_CHAIN_ID', 'Number(text) < MAX_CHAIN_ID + 9'],
      ['Number(value) < min || ', ''],
      ["word === 'true'", "word !== 'true'"],
    ],
  },
  'src/config/load.ts': {
    tests: ['test/config.test.ts'],
    faults: [
      [".filter(([, value]) => value !== '')", ''],
      ['if (name in own.shape && given', 'if (given'],
      ['if (env[name] !== undefined) return { fault', 'if (env[name] === null) return { fault'],
      ['if (!unread.has(variable)) faults.push', 'faults.push'],
      ['      unread.add(variable)\n', ''],
      ['faults.length === 0', 'true'],
      ['.trim()\n', '\n'],
    ],
  },
  'src/config/environments.ts': {
    tests: ['test/config.test.ts'],
    faults: [
      ['API_POOL_SIZE: integer(1, 1_000).default(10)', 'API_POOL_SIZE: integer(1, 1_000).default(11)'],
      ['MAX_WAITS: integer(1, 100_000)', 'MAX_WAITS: integer(0, 100_000)'],
      ['port.default(8_545 + place)', 'port.default(8_545)'],
      ["NODE_ENV !== 'production' || !ENGINE_SYNTHETIC", "NODE_ENV === 'production' || !ENGINE_SYNTHETIC"],
      ['CHAINS.includes(DEFAULT_CHAIN_ID)', 'true'],
      ["  'WEBHOOKS_KEY',\n]", ']'],
      ['MAX_NODES = 20', 'MAX_NODES = 21'],
    ],
  },
  'src/compose/webhooks/subscription.ts': {
    tests: ['test/webhooks/options.test.ts'],
    faults: [
      ['chainIds?.length !== 1', 'chainIds === null'],
      ['getAddress(text).toLowerCase()', 'getAddress(text)'],
    ],
  },
  'src/compose/flags.ts': {
    tests: ['test/webhooks/options.test.ts'],
    faults: [
      ['time >= EARLIEST && time <= now', 'time >= EARLIEST && time < now'],
      ['time >= EARLIEST && time <= now', 'time <= now'],
      ['[...new Set(values)]', 'values'],
      ['texts.length > MOST_VALUES', 'texts.length >= MOST_VALUES'],
      ['texts.length > MOST_VALUES', 'texts.length > MOST_VALUES + 1'],
    ],
  },
  'src/compose/webhooks/commands.ts': {
    tests: ['test/webhooks/commands.service.test.ts'],
    faults: [
      ['MOST_SHOWN = 100', 'MOST_SHOWN = 101'],
      ["flags['leave-dead'] === true", "flags['leave-dead'] === false"],
      ['await database.run((handle) => removeEndpoint(handle, id))\n      throw', 'throw'],
      ['if (!posted.ok) throw', 'if (posted.status === 0) throw'],
    ],
  },
  'src/compose/webhooks/keys.ts': {
    tests: ['test/webhooks/keys.service.test.ts'],
    faults: [
      ['MAX_NAME = 100', 'MAX_NAME = 101'],
      ["?.trim() ?? ''", " ?? ''"],
      ['hash: hashApiKey(key), createdAt', 'hash: key, createdAt'],
      ['await printSecret(`id: ${' + 'id}`, ', 'void printSecret(`id: ${' + 'id}`, '],
      ['await printSecret(`key: ', 'void printSecret(`key: '],
      ['replaceApiKey(handle, id, hashApiKey(key))', 'replaceApiKey(handle, id, key)'],
    ],
  },
  'src/compose/api.ts': {
    tests: ['test/compose/processes.service.test.ts'],
    faults: [
      ["  closers.add('drain', drain, (it) => it.begin())\n", ''],
      ["  closers.add('http server', app, (it) => it.close())\n", ''],
      [
        "  closers.add('identity provider', identity, (it) => it.close())\n  const pricing = createPricingClient(pricingOf",
        '  const pricing = createPricingClient(pricingOf',
      ],
      ['draining: drain.signal', 'draining: new AbortController().signal'],
      ["name: 'copy', url: copyUrl", "name: 'reads', url: copyUrl"],
    ],
  },
  'src/compose/engine.ts': {
    tests: ['test/compose/processes.service.test.ts'],
    faults: [
      ["  closers.add('drain', drain, (it) => it.begin())\n", ''],
      ["  closers.add('metrics', served, (it) => it.close())\n", ''],
      ['config.ENGINE_PRIVATE_KEY === undefined ? []', 'config.ENGINE_PRIVATE_KEY !== undefined ? []'],
    ],
  },
  'src/compose/worker.ts': {
    tests: ['test/compose/processes.service.test.ts'],
    faults: [
      ["  closers.add('metrics', served, (it) => it.close())\n", ''],
      ['limitConnections(unlimited, maxConnections)', 'unlimited'],
      [
        'jobs: database, index: indexing',
        'jobs: indexing, index: indexing',
        'both pools are idle before the first job',
      ],
      ['  measureWebhooks(metrics, unlimited)\n', ''],
    ],
  },
}
