import { chainIdsOf, type Figures, methodsOf, type PhaseName, perDay } from './figures.ts'

/*
 * What the calls of a deployment cost in a month of 30 days, at three kinds of plans. Providers count each item of a
 * batch. Prices are in US dollars without taxes, and change: compare them with the sources before you use them.
 */

const DAYS = 30
const MILLION = 1_000_000

/**
 * (a) A plan by calls: fee + max(0, calls - included) / 1,000,000 * extra, at the cheapest plan that may be exceeded.
 * Chainstack, one unit for each call of a full node. Source: github.com/api-evangelist/chainstack of 25 May 2026, a
 * summary of chainstack.com/pricing that its author has not verified.
 */
const callPlans = [
  { name: 'Growth', fee: 49, included: 20 * MILLION, extra: 15 },
  { name: 'Pro', fee: 199, included: 80 * MILLION, extra: 12.5 },
  { name: 'Business', fee: 499, included: 200 * MILLION, extra: 10 },
] as const

/**
 * (b) Compute units: sum over the methods of calls * units / 1,000,000 * price. The units are those of
 * alchemy.com/docs/reference/compute-unit-costs. A method that the table lacks counts as `OTHER_UNITS`.
 */
const computeUnits: Readonly<Record<string, number>> = {
  eth_chainId: 0,
  eth_blockNumber: 10,
  eth_feeHistory: 10,
  eth_maxPriorityFeePerGas: 10,
  eth_getBlockByNumber: 20,
  eth_getBlockByHash: 20,
  eth_getTransactionReceipt: 20,
  eth_getTransactionByHash: 20,
  eth_getTransactionCount: 20,
  eth_getBlockReceipts: 20,
  eth_getBalance: 20,
  eth_getCode: 20,
  eth_getStorageAt: 20,
  eth_gasPrice: 20,
  eth_estimateGas: 20,
  eth_call: 26,
  eth_simulateV1: 40,
  eth_sendRawTransaction: 40,
  eth_getLogs: 60,
}
const OTHER_UNITS = 20

/** An example, not a quoted price: `--unit-price` replaces it. Dollars for a million units. */
export const EXAMPLE_UNIT_PRICE = 0.4

/**
 * (c) A flat rate by calls per second: for each chain the cheapest tier whose limit is above its greatest number of
 * calls in one second. QuickNode, one endpoint on one chain. Source: support.quicknode.com, "Flat Rate RPS - Billing",
 * 16 March 2026.
 */
const flatTiers = [
  { perSecond: 75, fee: 799 },
  { perSecond: 150, fee: 1_499 },
  { perSecond: 250, fee: 1_949 },
] as const

/** The kinds of plans, with their formulas. */
export const planKinds = (unitPrice: number): readonly (readonly [name: string, formula: string])[] => [
  ['(a) by calls', 'the least of fee + max(0, calls - included) / 1e6 * extra; plans of Chainstack, not verified'],
  ['(b) compute units', `calls * units of the method / 1e6 * $${unitPrice}; units of Alchemy, the price is an example`],
  ['(c) flat rate', 'for each chain, the cheapest tier above its most calls in a second; tiers of QuickNode'],
]

const byCalls = (calls: number): number =>
  Math.min(...callPlans.map(({ fee, included, extra }) => fee + (Math.max(0, calls - included) / MILLION) * extra))

/** The units of a month. */
export const unitsOf = (figures: Figures, phase: PhaseName): number => {
  const days = chainIdsOf(figures).map((chainId) => perDay(figures[phase], chainId))
  const ofMethod = (method: string): number =>
    days.reduce((sum, day) => sum + day.calls(method), 0) * (computeUnits[method] ?? OTHER_UNITS)
  return DAYS * methodsOf([figures]).reduce((sum, method) => sum + ofMethod(method), 0)
}

/** Infinity when no tier suffices. */
const flat = (peak: number): number => flatTiers.find(({ perSecond }) => perSecond > peak)?.fee ?? Infinity

/** The calls of all chains in a month. */
export const monthlyCalls = (figures: Figures, phase: PhaseName): number =>
  DAYS * chainIdsOf(figures).reduce((sum, id) => sum + perDay(figures[phase], id).calls(), 0)

/** Dollars of all chains in a month, for each of `planKinds`. */
export const monthlyPrices = (figures: Figures, phase: PhaseName, unitPrice: number): number[] => [
  byCalls(monthlyCalls(figures, phase)),
  (unitsOf(figures, phase) / MILLION) * unitPrice,
  chainIdsOf(figures).reduce((sum, id) => sum + flat(perDay(figures[phase], id).peakPerSecond), 0),
]
