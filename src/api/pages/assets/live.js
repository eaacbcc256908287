/*
 * Fills the form of an operation with values of this service: the recorded ones are of a sandbox, and their times pass.
 * What a reader changed stays, and everything stays where the service has no fitting record.
 */
{
  const DAY = 86_400

  const form = document.querySelector('form')

  let isTouched = false
  form.addEventListener('input', () => {
    isTouched = true
  })

  /** The first row of a list that fits, with `now`: the Unix time of its newest block, or of this machine if later. */
  const firstOf = async (list, fits = () => true) => {
    const response = await fetch(new URL(`../../hedge/${list}`, location.href))
    const { data, meta } = await response.json()
    const now = Math.max(Date.now() / 1_000, ...meta.asOf.map(({ blockTimestamp }) => blockTimestamp))
    const row = data.find(fits)
    return row && { ...row, now: Math.floor(now) }
  }

  const thousandTokens = ({ decimals }) => `1000${'0'.repeat(decimals)}`

  const OPEN = 'events?state=open&poolOpen=true&capacityFrom=1000&limit=50'
  const isPublic = ({ allowExternalLp, decimals }) => allowExternalLp && decimals !== null
  const hasDecimals = ({ decimals }) => decimals !== null
  const isOpen = ({ event }) => event.state === 'open'
  const isSettled = ({ event }) => event.state === 'settled' || event.state === 'triggered'

  /** The wallet of the newest record of an event: it has the token of the event, and has approved the protocol. */
  const walletOf = async (list, { chainId, id }) => {
    const row = await firstOf(`${list}?chainId=${chainId}&eventId=${id}&limit=1`)
    return row?.hedger ?? row?.lp
  }

  const purchase = async (event) => {
    const notional = thousandTokens(event)
    // The premium, and the greatest fee that the protocol allows on it.
    const maxCost = String((BigInt(notional) * BigInt(event.premiumRate) * 11n) / 10_000_000n)
    return { from: await walletOf('positions', event), notional, maxCost, deadline: String(event.now + DAY) }
  }

  /** For the paths of operations, by their first match: a list, what a row gives, and which row fits. */
  const sources = [
    [/\/buy-protection$/, OPEN, purchase, isPublic],
    [
      ...[/\/deposit$/, OPEN],
      async (event) => ({ from: await walletOf('deposits', event), amount: thousandTokens(event) }),
      isPublic,
    ],
    [/\/set-pool-settings$/, OPEN, ({ creator }) => ({ from: creator })],
    [/\/withdraw-creator-earnings$/, 'events?state=settled&limit=1', ({ creator }) => ({ from: creator })],
    [
      ...[/\/(?:create-event|quote)$/, 'events?chainId=8453&limit=1'],
      ({ now }, { quote }) => {
        const expiry = now + 90 * DAY
        return { expiry: String(expiry), expiryUnixSeconds: expiry, quote: { ...quote, expiryUnixSeconds: expiry } }
      },
    ],
    [
      ...[/\/(?:settle-event|submit-rate|clear-stale-submissions)$/, 'events?chainId=8453&state=expired&limit=1'],
      ({ strike }) => ({ settlementPrice: strike, price: strike }),
    ],
    [/\/claim-payout$/, 'positions?claimable=true&limit=1', ({ id, hedger }) => ({ positionId: id, from: hedger })],
    // Of an open event nothing but premiums can be claimed.
    [/\/claim-premiums$/, 'deposits?claimable=true&include=event&limit=50', ({ lp }) => ({ from: lp }), isOpen],
    [/\/withdraw-capital$/, 'deposits?claimable=true&include=event&limit=50', ({ lp }) => ({ from: lp }), isSettled],
    [/\/claim-all$/, 'deposits?claimable=true&limit=1', ({ lp }) => ({ from: lp })],
    [/\/hedge\/creators\//, 'events?limit=1', ({ creator }) => ({ addr: creator })],
    [
      ...[/\/hedge\/(?:events|quote-payout)\/|\/submissions\//, 'events?limit=50'],
      (event) => ({
        notional: thousandTokens(event),
        hypoSettlement: event.payoutCap === '0' ? event.strike : event.payoutCap,
      }),
      hasDecimals,
    ],
    [/\/hedge\/deposits\//, 'deposits?limit=1', ({ lp }) => ({ addr: lp })],
    [
      ...[/\/hedge\/positions\/|\/wallets\/|\/changes$|\/transactions\//, 'positions?limit=1'],
      ({ hedger, createdTx }) => ({ addr: hedger, wallets: [hedger], hash: createdTx }),
    ],
  ]

  const fill = async ([, list, valuesOf, fits]) => {
    const area = form.querySelector('textarea')
    const recorded = area === null ? {} : JSON.parse(area.defaultValue)
    const row = await firstOf(list, fits)
    if (row === undefined) return
    const { chainId, id, eventId = id } = row
    const values = { chainId, id, eventId, positionId: id, depositId: id, ...(await valuesOf(row, recorded)) }
    if (isTouched) return
    const fields = Object.keys(recorded).map((name) => [name, name in values ? values[name] : recorded[name]])
    if (area !== null) area.value = JSON.stringify(Object.fromEntries(fields), null, 2)
    for (const field of form.querySelectorAll('[required]')) if (field.name in values) field.value = values[field.name]
  }

  const source = sources.find(([pattern]) => pattern.test(form.dataset.path))
  // Without the index the recorded values stay.
  if (source !== undefined) fill(source).catch(() => {})
}
