import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { studyOf } from '../../src/pricing/study.ts'
import type { Results } from '../study/results.ts'

const { tiers, about }: Pick<Results, 'tiers' | 'about'> = JSON.parse(readFileSync('docs/study/tiers.json', 'utf8'))

const quote = { pair: 'USD/MXN', strikeAbove: true, days: 90, synthetic: false }

test.each([
  [{}, 'mainstreamEM', false, 90, 'fall'],
  [{ strikeAbove: false }, 'mainstreamEM', false, 90, 'rise'],
  [{ pair: 'MXN/USD' }, 'mainstreamEM', false, 90, 'rise'],
  [{ pair: 'EUR/USD' }, 'developed', false, 90, 'rise'],
  [{ pair: 'EUR/USD', strikeAbove: false, days: 270 }, 'developed', false, 180, 'fall'],
  [{ pair: 'EUR/JPY', days: 280 }, 'developed', true, 365, 'both'],
  [{ pair: 'EUR/DKK', days: 15 }, 'pegged', true, 30, 'fall'],
  [{ pair: 'USD/HKD', days: 730 }, 'pegged', false, 365, 'fall'],
  [{ pair: 'INR/LKR', days: 200 }, 'frontierEM', true, 180, 'fall'],
] as const)(
  'a quote with %j has the figures of its tier, horizon and direction',
  (changes, tier, crosses, horizon, direction) => {
    const cell = tiers.find(
      (it) => it.rates === 'known' && it.tier === tier && it.crosses === crosses && it.horizon === horizon,
    )
    const { dates, ratio, interval } = cell?.[direction] ?? {}
    const firstYear = cell?.years[0]?.[0]
    expect(ratio).toBeGreaterThan(0)
    expect(studyOf({ ...quote, ...changes })).toEqual({
      study: {
        ...{ tier, crosses, horizonDays: horizon, direction, firstYear, dates, ratio, interval },
        ...{ rates: 'known', closesEnd: about.lastClose },
      },
      studyReason: null,
    })
  },
)

test.each([
  [{ pair: 'USD/GHS' }, 'the study has no closes of USD/GHS'],
  [{ pair: 'USD/TRY' }, 'the study has no closes of USD/TRY'],
  [{ pair: 'no pair' }, 'the study has no closes of no pair'],
  [{ synthetic: true }, 'the rates are synthetic, and the study is of published closes'],
  [{ days: 14.9 }, 'the study has no horizon near 15 days: its nearest is 30 days'],
  [{ days: 731 }, 'the study has no horizon near 731 days: its nearest is 365 days'],
])('a quote with %j has no figures, and the reason', (changes, studyReason) => {
  expect(studyOf({ ...quote, ...changes })).toEqual({ study: null, studyReason })
})
