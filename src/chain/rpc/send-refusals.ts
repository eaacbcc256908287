/**
 * What a node's refusal of signed bytes means. `known`: it has the same transaction already. `later`: it may take the
 * transaction later, and another node may take it now. `final`: the bytes have to change, or the text is unknown.
 */
export type SendRefusal = 'known' | 'later' | 'final'

type Row = { readonly means: Exclude<SendRefusal, 'final'>; readonly is: RegExp; readonly unless?: RegExp }

/** Texts about another transaction with the same nonce, which is not the one that was sent. */
const ANOTHER = /nonce|replac|conflict|different|\bnot\b/i

/*
 * Texts of geth, op-geth, bsc, erigon, nethermind, besu, reth, anvil, hardhat, parity, proxyd and mempools of the
 * CometBFT family. The first row that fits decides. A text that is missing under `known` costs a look-up of the
 * transaction and nothing else; one that fits too much would report a transaction as sent that no node has.
 */
const rows: readonly Row[] = [
  {
    means: 'known',
    is: /\balready[ _-]?(?:known|imported)|\balready_exists|\b(?:tx|transaction) already exists/i,
    unless: ANOTHER,
  },
  { means: 'known', is: /\b(?:known|duplicate) (?:tx|transaction)\b|\bsame hash\b/i, unless: ANOTHER },
  {
    means: 'known',
    is: /\balready (?:in|present in|part of|contained in) (?:the )?[\w-]*(?:pool|cache|queue)/i,
    unless: ANOTHER,
  },

  { means: 'later', is: /pool(?: is|:)? (?:full|overflow)|\bpool overflow|queue(?: is|:)? full/i },
  { means: 'later', is: /\baccount (?:slot |queue |transaction )?limit|\bslot limit/i },
  { means: 'later', is: /too many (?:\w+ )?(?:queued|pending|transactions|txs)\b|transactions in the queue/i },
  { means: 'later', is: /\bin-?flight\b|delegator ?has ?pending|gapped-nonce tx from delegated/i },
  { means: 'later', is: /\b(?:address|authority) already reserved|tries to replace pending|\bspammer\b/i },
  { means: 'later', is: /underpriced\W[^\n]{0,80}\b(?:queue|pool)\b/i },
  { means: 'later', is: /sender is over rate limit|\btemporarily\b|\b(?:try|retry|send)(?: it)?(?: again)? later\b/i },
]

/** The meaning of a node's text about a transaction that it did not take. */
export const sendRefusalOf = (message: string): SendRefusal =>
  rows.find(({ is, unless }) => is.test(message) && unless?.test(message) !== true)?.means ?? 'final'
