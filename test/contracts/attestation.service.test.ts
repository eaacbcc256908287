import {
  type Address,
  type Hex,
  hashMessage,
  hexToBytes,
  numberToHex,
  pad,
  serializeSignature,
  zeroAddress,
  zeroHash,
} from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { expect, test } from 'vitest'
import { attestationMessage } from '../../src/protocol/attestation.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { type NewEvent, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, outcome, at, mineAt, now, newEvent, owner, creator, lp, diamond } = await useProtocol()

const privateKey: Hex = `0x${'01'.repeat(32)}`
const engine = privateKeyToAccount(privateKey)

/** The engine's signature over all attested values of a quote. */
const hashOf = (chainId: ChainId, proxy: Address, from: Address, quote: NewEvent): Hex =>
  attestationMessage({ ...quote, chainId, diamond: proxy, creator: from, expiry: quote.expiryDate })

const signed = async (chosen: Partial<NewEvent> = {}, key = privateKey): Promise<NewEvent> => {
  const quote = newEvent({ quoteTimestamp: await now(), quoteNonce: pad('0x33'), ...chosen })
  const inner = hashOf(8453, diamond, creator, quote)
  return { ...quote, signature: await privateKeyToAccount(key).signMessage({ message: { raw: inner } }) }
}

const register = () => send(owner, 'setPricingEngineSigner', [engine.address])

test('a signed quote is accepted and its signer recorded', async () => {
  await register()
  expect(await read('getPricingEngineSigner')).toBe(engine.address)
  await send(creator, 'createEvent', [await signed()])
  expect(await read('getEventQuoteSigner', [1n])).toBe(engine.address)
})

test('an unsigned event needs no attestation, whatever the other quote fields contain', async () => {
  await register()
  await send(creator, 'createEvent', [newEvent({ quoteTimestamp: 1n, quoteNonce: pad('0x33') })])
  await send(creator, 'createEvent', [newEvent({ quoteTimestamp: 1n, quoteNonce: pad('0x33') })])
  expect(await read('getEventQuoteSigner', [1n])).toBe(zeroAddress)
})

test('a signature is rejected while no signer, or another signer, is registered', async () => {
  await refuses('No pricing signer', creator, 'createEvent', [await signed()])
  await register()
  expect(await outcome(creator, 'createEvent', [await signed()])).toBe('success')
  await refuses('Bad quote signature', creator, 'createEvent', [await signed({}, `0x${'02'.repeat(32)}`)])
  await send(owner, 'setPricingEngineSigner', [lp])
  await refuses('Bad quote signature', creator, 'createEvent', [await signed()])
})

test('a quote is valid for 120 seconds including the last one, and not before its timestamp', async () => {
  await register()
  const quote = await signed()
  await mineAt(quote.quoteTimestamp + 119n)
  await at(quote.quoteTimestamp + 120n)
  await send(creator, 'createEvent', [quote])
  await mineAt(quote.quoteTimestamp + 121n)
  await refuses('Quote expired', creator, 'createEvent', [{ ...quote, quoteNonce: pad('0x34') }])
  const early = await signed({ quoteTimestamp: (await now()) + 1_000n, quoteNonce: pad('0x35') })
  await mineAt(early.quoteTimestamp - 1n)
  await refuses('Quote from the future', creator, 'createEvent', [early])
  await mineAt(early.quoteTimestamp)
  expect(await outcome(creator, 'createEvent', [early])).toBe('success')
  await refuses('Quote expired', creator, 'createEvent', [await signed({ quoteTimestamp: 0n })])
})

test('a nonce can be used once, and a rejected creation uses none', async () => {
  await register()
  await refuses('Quote nonce required', creator, 'createEvent', [await signed({ quoteNonce: zeroHash })])
  const quote = await signed()
  await refuses('Bad name length', creator, 'createEvent', [{ ...quote, name: '' }])
  await send(creator, 'createEvent', [quote])
  await refuses('Quote nonce used', creator, 'createEvent', [quote])
  await refuses('Quote nonce used', creator, 'createEvent', [await signed({ strike: 12_100_000n })])
  await send(creator, 'createEvent', [await signed({ quoteNonce: pad('0x34') })])
})

test('changing any signed value invalidates the signature, and changing an unsigned value does not', async () => {
  await register()
  const quote = await signed()
  const changes: readonly Partial<NewEvent>[] = [
    { underlying: 'USD/NGN' },
    { strike: quote.strike + 1n },
    { payoutCap: quote.payoutCap + 1n },
    { premiumRate: quote.premiumRate - 1n },
    { expiryDate: quote.expiryDate + 1n },
    { initialRate: quote.initialRate + 1n },
    { strikeAbove: false, payoutCap: quote.strike - 1n },
    { quoteTimestamp: quote.quoteTimestamp - 1n },
    { quoteNonce: pad('0x34') },
  ]
  for (const change of changes) {
    expect([change, await outcome(creator, 'createEvent', [{ ...quote, ...change }])]).toEqual([
      change,
      'Bad quote signature',
    ])
  }
  await refuses('Bad quote signature', lp, 'createEvent', [quote])
  const free = { name: 'Another', allowExternalLp: false, initialLiquidity: 1n }
  expect(await outcome(creator, 'createEvent', [{ ...quote, ...free }])).toBe('success')
})

test('a quote for another chain or another proxy is rejected', async () => {
  await register()
  const quote = await signed()
  for (const inner of [hashOf(56, diamond, creator, quote), hashOf(8453, lp, creator, quote)]) {
    const signature = await engine.signMessage({ message: { raw: inner } })
    await refuses('Bad quote signature', creator, 'createEvent', [{ ...quote, signature }])
  }
})

test('a signature has only one valid form', async () => {
  await register()
  const quote = await signed()
  const hash = hashMessage({ raw: hashOf(8453, diamond, creator, quote) })
  const { r, s } = await sign({ hash, privateKey })
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const mirrored = numberToHex(ORDER - BigInt(s), { size: 32 })
  for (const v of [27n, 28n]) {
    const high = serializeSignature({ r, s: mirrored, v })
    await refuses('Bad quote signature', creator, 'createEvent', [{ ...quote, signature: high }])
  }
  const body = quote.signature.slice(0, -2)
  for (const v of ['00', '01', '1d']) {
    await refuses('Bad quote signature', creator, 'createEvent', [{ ...quote, signature: `${body}${v}` as Hex }])
  }
  expect(hexToBytes(quote.signature)).toHaveLength(65)
  for (const signature of [quote.signature.slice(0, -2), `${quote.signature}00`, '0x00'] as Hex[]) {
    await refuses('Bad signature length', creator, 'createEvent', [{ ...quote, signature }])
  }
})
