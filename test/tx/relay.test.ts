import { encodeFunctionData, fromRlp, type Hex, keccak256, toRlp } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Chain } from '../../src/chain/chain.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { SimulatedCall } from '../../src/chain/simulate-signed.ts'
import { MAX_TX_HEX } from '../../src/protocol/fields/request-fields.ts'
import { BroadcastBody, relay, type SignedBy } from '../../src/tx/relay.ts'
import { DAI_AT, DIAMOND, OTHER, planChain, USDC_AT } from '../support/plan-chain.ts'

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const caller = { address: 'client', disconnected: new AbortController().signal }
const deposit = encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [5n, 300n] })
const pause = encodeFunctionData({ abi: protocolAbi, functionName: 'pause' })
const approve = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [DIAMOND, 1n] })

const sign = (to: Hex = DIAMOND, data: Hex = deposit, chainId: number | undefined = 8453): Promise<Hex> =>
  account.signTransaction({ type: 'eip1559', chainId, to, data, nonce: 4, gas: 90_000n, maxFeePerGas: 7n })
const withoutChain = (): Promise<Hex> =>
  account.signTransaction({ type: 'legacy', to: DIAMOND, data: deposit, nonce: 4, gas: 90_000n, gasPrice: 7n })

/** A chain whose simulations of signed calls have this result, and what was asked of it, in its order. */
const open = (simulated: SimulatedCall | null = { error: null }) => {
  const asked: unknown[] = []
  const { chain } = planChain()
  const broadcast: Chain['broadcast'] = async ({ bytes, hash }, by) => {
    asked.push(['broadcast', bytes, hash, by])
  }
  const simulateSigned: Chain['simulateSigned'] = async (call, by) => {
    asked.push(['simulate', call.to, call.input, call.hash, by])
    return simulated
  }
  return { asked, chain: { ...chain, broadcast, simulateSigned } }
}

const failed = (text: string): SimulatedCall => ({
  error: new NodeError({ code: 3, message: `execution reverted: ${text}` }),
})

describe('a signed transaction', () => {
  test.each([
    ['of the protocol', DIAMOND, deposit],
    ['of a configured token', USDC_AT, approve],
  ] as const)('%s is simulated for its caller, and then sent', async (_, to, data) => {
    const { asked, chain } = open()
    const signedTx = await sign(to, data)
    const sent: SignedBy[] = []
    const record = await relay(chain, { signedTx, caller, onSent: (it) => void sent.push(it) })
    expect(record).toEqual({ txHash: keccak256(signedTx), simulated: true, warning: null, warnings: [] })
    expect(asked).toEqual([
      ['simulate', to, data, keccak256(signedTx), caller],
      ['broadcast', signedTx, keccak256(signedTx), caller],
    ])
    expect(sent).toMatchObject([{ hash: keccak256(signedTx), from: account.address, nonce: 4n }])
  })

  test('of another contract is sent without a simulation, and is not reported', async () => {
    const { asked, chain } = open()
    const sent: SignedBy[] = []
    for (const to of [OTHER, DAI_AT]) {
      const record = await relay(chain, { signedTx: await sign(to, approve), onSent: (it) => void sent.push(it) })
      expect(record).toMatchObject({ simulated: false, warning: null })
    }
    expect([asked.map((it) => (it as string[])[0]), sent]).toEqual([['broadcast', 'broadcast'], []])
  })

  test('that creates a contract is sent without a simulation', async () => {
    const creation = { type: 'eip1559', chainId: 8453, data: '0x00', nonce: 4, gas: 90_000n, maxFeePerGas: 7n } as const
    const { asked, chain } = open()
    await relay(chain, { signedTx: await account.signTransaction(creation) })
    expect(asked.map((it) => (it as string[])[0])).toEqual(['broadcast'])
  })

  test('that no node simulates is sent, with a note', async () => {
    const sent: SignedBy[] = []
    const record = await relay(open(null).chain, { signedTx: await sign(), onSent: (it) => void sent.push(it) })
    expect([record.simulated, record.warning, sent.length]).toEqual([false, null, 1])
  })

  test('that is not sent is not reported', async () => {
    const { chain } = open()
    const sent: SignedBy[] = []
    const broken: Chain = { ...chain, broadcast: () => Promise.reject(new Error('no node')) }
    await expect(relay(broken, { signedTx: await sign(), onSent: (it) => void sent.push(it) })).rejects.toThrow(
      'no node',
    )
    expect(sent).toEqual([])
  })
})

describe('a transaction that would revert', () => {
  test.each([
    ['deposit', deposit, 'protocol_paused'],
    ['pause', pause, 'already_paused'],
  ] as const)('is sent with the warning of the function %s', async (_, data, code) => {
    const { asked, chain } = open(failed('Paused'))
    const { warning, simulated } = await relay(chain, { signedTx: await sign(DIAMOND, data) })
    expect([warning?.code, warning?.reason, simulated, asked.length]).toEqual([code, 'Paused', true, 2])
  })

  test('is not sent when the caller asks for that', async () => {
    const { asked, chain } = open(failed('Insufficient balance'))
    const sent: SignedBy[] = []
    const order = { signedTx: await sign(), rejectIfReverts: true, onSent: (it: SignedBy) => void sent.push(it) }
    await expect(relay(chain, order)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Insufficient balance (insufficient_balance)'),
      details: [{ path: 'signedTx', message: 'insufficient_balance' }],
    })
    expect([asked.map((it) => (it as string[])[0]), sent]).toEqual([['simulate'], []])
  })

  test('is sent when it would not, or when it is unknown', async () => {
    for (const simulated of [{ error: null }, null]) {
      const { asked, chain } = open(simulated)
      await relay(chain, { signedTx: await sign(), rejectIfReverts: true })
      expect(asked).toHaveLength(2)
    }
  })
})

describe('the chain of a transaction', () => {
  test('has to be the one that is named', async () => {
    const { asked, chain } = open()
    await expect(relay(chain, { signedTx: await sign(DIAMOND, deposit, 56) })).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: 'signedTx', message: expect.stringContaining('signed for chain 56, not 8453') }],
    })
    expect(asked).toEqual([])
  })

  test('that it does not name is a warning', async () => {
    const { warnings } = await relay(open().chain, { signedTx: await withoutChain() })
    expect(warnings).toEqual([{ code: 'no_chain_id', message: expect.stringContaining('does not contain the chain') }])
  })

  test('of bytes in an unknown form is left to the node', async () => {
    const { asked, chain } = open()
    expect(await relay(chain, { signedTx: '0x1234' })).toMatchObject({ simulated: false, warnings: [] })
    expect(asked).toEqual([['broadcast', '0x1234', keccak256('0x1234'), undefined]])
  })
})

test.each(['0x01', '0x1d', '0x22'] as const)('a v of %s, which no signature has, is a fault', async (v) => {
  const { asked, chain } = open()
  const signedTx = toRlp((fromRlp(await withoutChain(), 'hex') as Hex[]).with(6, v))
  await expect(relay(chain, { signedTx, rejectIfReverts: true })).rejects.toMatchObject({
    code: 'validation_error',
    details: [{ path: 'signedTx', message: expect.stringContaining(`no signature has v ${Number(v)}: expected 27`) }],
  })
  expect(asked).toEqual([])
})

test.each(['00', '0000'])('bytes %s after a transaction are a fault', async (extra) => {
  const { asked, chain } = open()
  await expect(relay(chain, { signedTx: `${await sign()}${extra}` as Hex })).rejects.toMatchObject({
    code: 'validation_error',
    details: [{ path: 'signedTx', message: expect.stringContaining(`: ${extra.length / 2}.`) }],
  })
  expect(asked).toEqual([])
})

describe('the body of a broadcast', () => {
  const faultOf = (signedTx: unknown) => {
    const { error } = BroadcastBody.safeParse({ chainId: 8453, signedTx })
    return error?.issues.map(({ message }) => message.split(':')[0])
  }
  test.each([
    ['two digits', '0x12', undefined],
    ['an odd number of digits', '0x123', ['expected an even number of hex digits']],
    ['no digits', '0x', ['expected 0x hex of a signed transaction']],
    ['no prefix', '1234', ['expected 0x hex of a signed transaction']],
    ['other letters', '0xgg', ['expected 0x hex of a signed transaction']],
    ['a number', 12, ['expected 0x hex of a signed transaction']],
    ['the longest text', `0x${'0'.repeat(MAX_TX_HEX - 2)}`, undefined],
    ['a longer text', `0x${'0'.repeat(MAX_TX_HEX)}`, [`expected at most ${MAX_TX_HEX} characters`]],
  ])('with %s', (_, text, faults) => {
    expect(faultOf(text)).toEqual(faults)
  })

  test('keeps the bytes, and whether to send what reverts', () => {
    expect(BroadcastBody.parse({ chainId: 8453, signedTx: '0xAbCd', rejectIfReverts: true })).toEqual({
      ...{ chainId: 8453, signedTx: '0xAbCd', rejectIfReverts: true },
    })
  })
})
