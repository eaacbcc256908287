import { expect, test } from 'vitest'
import { sendRefusalOf } from '../../src/chain/rpc/send-refusals.ts'

const HASH = `0x${'5f'.repeat(32)}`

test.each([
  'already known', // geth, op-geth, bsc, reth
  `known transaction: ${HASH}`, // older geth, hardhat
  'ALREADY_EXISTS: already known', // erigon
  'existing tx with same hash', // erigon
  'AlreadyKnown', // nethermind
  'Known transaction', // besu
  'already imported', // reth
  `[${HASH}] Already imported`, // anvil
  'transaction already imported', // anvil
  'Transaction with the same hash was already imported.', // parity
  'Transaction already in mempool',
  'tx already exists in cache', // CometBFT
  'tx is already in the pool',
  `known transaction. transaction with hash ${HASH} is already in the system`, // zkSync
  'duplicate transaction',
  'already known, try again later',
])('a node that refuses with "%s" has the transaction', (message) => {
  expect(sendRefusalOf(message)).toBe('known')
})

test.each([
  'txpool is full', // geth, reth
  'pending sub-pool is full', // erigon
  'blobs limit in txpool is full', // erigon
  'Transaction pool is full',
  'mempool is full: number of txs 5000 (max: 5000)', // CometBFT
  'in-flight transaction limit reached for delegated accounts', // geth, reth
  'gapped-nonce tx from delegated accounts', // geth
  'authority already reserved', // geth, erigon
  'address already reserved', // geth
  'DelegatorHasPendingTx', // nethermind
  'account limit exceeded: pooled 16 txs', // geth
  'future transaction tries to replace pending', // geth
  'too many queued transactions for the account',
  'transaction underpriced: the queue is at its limit',
  // parity
  'There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.',
  'rejected due to 0xf39f being identified as a spammer', // reth
  'sender is over rate limit', // proxyd
  'the sequencer is temporarily unavailable, try again later',
])('a refusal with "%s" passes by waiting', (message) => {
  expect(sendRefusalOf(message)).toBe('later')
})

test.each([
  'unknown transaction type', // must not be read as a known transaction
  'transaction type not supported',
  'nonce too low: next nonce 8, tx nonce 7',
  'nonce too high',
  'replacement transaction underpriced',
  'transaction underpriced: gas tip cap 0, minimum needed 1',
  'there is already a transaction with the same nonce in the pool',
  'transaction with nonce 7 already exists',
  'transaction already exists with nonce 7',
  'duplicate transaction nonce',
  'a transaction of this nonce is already in the pool',
  'transaction already in a conflicting queue: not the same',
  'a different transaction already in pool',
  'could not replace existing tx',
  'insufficient funds for gas * price + value',
  'exceeds block gas limit',
  'only replay-protected (EIP-155) transactions allowed over RPC',
  'max fee per gas less than block base fee',
  '',
])('a refusal with "%s" is final', (message) => {
  expect(sendRefusalOf(message)).toBe('final')
})
