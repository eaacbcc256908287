import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { encodeFunctionData, isHex } from 'viem'
import { expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { openEngine } from '../../src/pricing/engine.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { engineOptions } from '../support/engine.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm } from '../support/repetitions.ts'
import { type NewEvent, useProtocol } from '../support/use-protocol.ts'

const { client, send, outcome, newEvent, owner, creator, diamond, now } = await useProtocol()

const BLOCK_SECONDS = 2

test('while a chain produces a block every 2 s, every signed quote is accepted at the newest block and in the next', async () => {
  const engine = await openEngine({
    ...engineOptions,
    deployments: [{ chainId: 8453, diamond, headTime: now }],
    log: pino({ level: 'silent' }),
  })
  const { signerAddress } = engine
  if (!isHex(signerAddress)) throw new Error('the engine has no signer')
  await send(owner, 'setPricingEngineSigner', [signerAddress])

  const event = async (): Promise<NewEvent> => {
    const request = {
      ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 10_000 },
      expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 30 * 86_400,
      ...{ chainId: 8453, diamondAddress: diamond, creator },
    }
    const { attestation, breakdown, premiumRateFixed6 } = await engine.quote(QuoteRequest.parse(request))
    if (attestation === null || !isHex(attestation.signature) || !isHex(attestation.quoteNonce))
      throw new Error(`unsigned: ${JSON.stringify(breakdown.attestation)}`)
    return newEvent({
      premiumRate: BigInt(premiumRateFixed6),
      expiryDate: BigInt(request.expiryUnixSeconds),
      initialRate: BigInt(String(breakdown.initialRateFixed6)),
      signature: attestation.signature,
      quoteTimestamp: BigInt(attestation.quoteTimestamp),
      quoteNonce: attestation.quoteNonce,
      initialLiquidity: 1n,
    })
  }

  await client.setIntervalMining({ interval: BLOCK_SECONDS })
  const watching = new AbortController()
  void engine.watchChains(watching.signal)
  try {
    const first = await client.getBlockNumber()
    const simulated: string[] = []
    const sent: `0x${string}`[] = []
    while ((await client.getBlockNumber()) < first + 3n) {
      const params = await event()
      simulated.push(await outcome(creator, 'createEvent', [params]))
      // Many quotes a block take a core, and show no more than some.
      await sleep(byForm(150, 0))
      if (sent.length >= 20) continue
      const data = encodeFunctionData({ abi: protocolAbi, functionName: 'createEvent', args: [params] })
      sent.push(await client.sendTransaction({ account: creator, to: diamond, data, gas: 1_000_000n, chain: null }))
    }
    expect(simulated.length).toBeGreaterThanOrEqual(8)
    expect(simulated.filter((result) => result !== 'success')).toEqual([])
    const receipts = await Promise.all(sent.map((hash) => receiptOf(client, hash)))
    expect(receipts.map(({ status }) => status)).toEqual(sent.map(() => 'success'))
  } finally {
    watching.abort()
    await client.setIntervalMining({ interval: 0 })
  }
})
