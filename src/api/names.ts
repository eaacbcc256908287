import { nearest } from '../lib/nearest.ts'

/** Names that clients use for the same thing. Of a group, a request takes at most a few. */
const synonyms: readonly (readonly string[])[] = [
  ['underlying', 'pair', 'currencypair', 'market', 'base', 'quote'],
  ['wallet', 'wallets', 'addr', 'address', 'account', 'owner', 'user', 'hedger', 'lp', 'creator', 'from', 'sender'],
  ['chainid', 'chain', 'chains', 'chainids', 'network', 'networkid'],
  ['notional', 'amount', 'size', 'quantity', 'value', 'coverage'],
  ['amount', 'value', 'quantity', 'liquidity', 'assets'],
  ['expiry', 'expiryunixseconds', 'expirydate', 'expiration', 'maturity', 'expiryfrom', 'expiryto'],
  ['deadlineseconds', 'deadline', 'ttl', 'validfor'],
  ['payoutcap', 'cap', 'limit', 'maxrate'],
  ['strikeabove', 'direction', 'above', 'isabove', 'upward', 'side'],
  ['strike', 'strikeprice', 'strikerate'],
  ['initialrate', 'spot', 'spotrate'],
  ['premiumrate', 'premium'],
  ['initialliquidity', 'liquidity', 'seed', 'capital'],
  ['maxcost', 'maxpremium', 'maxcostbps', 'slippage', 'slippagebps'],
  ['token', 'paymenttoken', 'currency', 'asset', 'symbol'],
  ['limit', 'pagesize', 'perpage', 'size', 'take', 'first', 'count'],
  ['cursor', 'page', 'offset', 'skip', 'after', 'since', 'nextcursor', 'startingafter'],
  ['order', 'sort', 'sortby', 'orderby', 'direction'],
  ['state', 'status'],
  ['ids', 'id', 'eventids', 'eventid', 'event'],
  ['eventid', 'id', 'event'],
  ['positionid', 'id', 'position'],
  ['depositid', 'id', 'deposit'],
  ['signedtx', 'rawtx', 'tx', 'raw', 'transaction', 'rawtransaction', 'signedtransaction', 'serializedtransaction'],
  ['hyposettlement', 'settlementprice', 'settlement', 'price', 'rate'],
  ['price', 'rate', 'settlementprice'],
  ['include', 'expand', 'fields', 'with', 'embed'],
  ['poolopen', 'open', 'isopen', 'active'],
  ['aftertx', 'txhash', 'hash', 'tx'],
  ['minblock', 'block', 'blocknumber', 'atblock', 'sinceblock'],
  ['waitms', 'wait', 'timeout', 'timeoutms'],
]

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z\d]/g, '')

/** Longest name that is compared with synonyms. */
const MAX_NAME = 64

/**
 * The known name that was probably meant: one that is spelt almost the same, or one that means the same. Undefined when
 * there is none.
 *
 * @example meantName('pair', ['chainId', 'underlying']) // 'underlying'
 */
export const meantName = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > MAX_NAME) return undefined
  const given = plain(name)
  const same = known.find((it) => plain(it) === given)
  if (same !== undefined) return same
  for (const group of synonyms) {
    if (!group.includes(given)) continue
    const [meant] = group.flatMap((synonym) => known.filter((it) => plain(it) === synonym))
    if (meant !== undefined) return meant
  }
  return nearest(name, known)
}
