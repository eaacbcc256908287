import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Node } from '../../src/chain/pool/failover.ts'
import { createReader } from '../../src/chain/read.ts'
import {
  isFailedCall,
  isNoBytes,
  isRevert,
  NodeError,
  noBytes,
  redactUrls,
  toServiceError,
} from '../../src/chain/rpc/errors.ts'

const failed = (data: unknown): NodeError => new NodeError({ code: -32_000, message: 'failed', data })

describe('the bytes of an error', () => {
  test.each([
    ['are those of the node', '0x08c379a0', '0x08c379a0'],
    ['are empty for a revert without a reason', '0x', '0x'],
    ['are those after the word that some nodes add', 'Reverted 0x08C379a0', '0x08c379a0'],
    ['end before half a byte', '0x123', '0x12'],
    ['are null without data', undefined, null],
    ['are null for another text', 'no hex', null],
    ['are null for an object', { from: '0x1' }, null],
  ])('%s', (_, data, expected) => {
    expect(failed(data).data).toBe(expected)
    expect(isRevert(failed(data))).toBe(expected !== null)
  })

  test('are at most 1,024, of however many the contract returned', () => {
    expect(failed(`0x${'ab'.repeat(1_048_576)}`).data).toBe(`0x${'ab'.repeat(1_024)}`)
  })
})

test.each([
  ['out of gas', true],
  ['gas required exceeds allowance (30000000)', true],
  ['EVM error InvalidFEOpcode', true],
  ['execution reverted', true],
  ['OutOfGas', true],
  ['insufficient funds for transfer', true],
  ['intrinsic gas too low', true],
  ['invalid jump destination', true],
  ['Invalid opcode 0xfe', true],
  ['opcode not found', true],
  ['stack limit reached 1024', true],
  ['stack overflow', true],
  ['stack underflow (0 <=> 2)', true],
  ['VM execution error.', true],
  ['write protection', true],
  ['header not found: out of gas', false],
  ['invalid argument 0: hex string without 0x prefix', false],
  ['rate limit exceeded', false],
  ['request timed out', false],
])('an error with the text "%s" is a failed call: %s', (message, expected) => {
  expect(isFailedCall(new NodeError({ code: -32_000, message }))).toBe(expected)
})

test.each([
  [{ code: 3, message: 'failed' }, true],
  [{ code: -32_000, message: 'VM Exception: Revert' }, true],
  [{ code: -32_000, message: 'failed', data: '0x' }, true],
  [{ code: -32_000, message: 'failed' }, false],
  // A node that lacks the block may add bytes of its own.
  [{ code: -32_000, message: 'header not found', data: '0x12' }, false],
  [{ code: -32_000, message: 'rate limit of reverts' }, false],
])('%j is a revert: %s', (refusal, expected) => {
  expect(isRevert(new NodeError(refusal))).toBe(expected)
})

test('a view without an answer is a revert, and no other error is taken for it', () => {
  const reverted = new NodeError({ code: 3, message: 'execution reverted' })
  expect([noBytes(), failed('0x'), reverted].map((error) => [isRevert(error), isNoBytes(error)])).toEqual([
    [true, true],
    [true, false],
    [true, false],
  ])
})

test('clients may retry what a node cannot answer now, and get the text of what it refuses without its URL', () => {
  const missing = new NodeError({ code: -32_000, message: 'header not found' })
  expect(toServiceError(missing)).toMatchObject({ code: 'service_unavailable', cause: missing })
  const refused = new NodeError({ code: -32_000, message: 'no, see https://node.example/key' })
  expect(toServiceError(refused)).toMatchObject({ code: 'upstream_error', message: 'no, see <node>', cause: refused })
})

test.each([
  ['at http://a.example/key and HTTPS://b.example?key=1', 'at <node> and <node>'],
  ['at ws://a.example, then wss://b.example/key.', 'at <node> then <node>'],
  ['no URL: xhttp://a, http:/a', 'no URL: xhttp://a, http:/a'],
])('the URLs of "%s" are removed', (text, expected) => {
  expect(redactUrls(text)).toBe(expected)
})

test('cached errors count with their text and their bytes, so that they cannot fill the memory', async () => {
  const asked: number[] = []
  const error = new NodeError({
    code: 3,
    message: `execution reverted: ${'x'.repeat(1_000)}`,
    data: `0x${'ab'.repeat(1_024)}`,
  })
  const node = {
    async send({ outcomes }: { readonly outcomes: readonly unknown[] }) {
      asked.push(outcomes.length)
      return { outcomes: outcomes.map(() => ({ ok: false, error })) }
    },
  } as unknown as Pick<Node, 'send'>
  // Each error takes about 3 KB: two of them fit.
  const reader = createReader({ node, diamond: `0x${'1'.repeat(40)}`, maxEntries: 1_000, maxBytes: 7_000 })
  const block = { hash: `0x${'2'.repeat(64)}` as const }
  const view = (id: number) =>
    ({ name: 'isPaused', data: `0x${id}${id}` as Hex, decode: (bytes: Hex) => bytes }) as const
  const read = (id: number) => reader.readAt(block, [view(id)])

  for (const id of [1, 2]) await read(id)
  await read(1)
  expect(asked).toEqual([1, 1])
  await read(3)
  await read(2)
  expect(asked).toEqual([1, 1, 1, 1])
})
