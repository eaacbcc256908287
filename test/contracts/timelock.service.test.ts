import { type Hex, toFunctionSelector, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { DAY, useProtocol } from '../support/use-protocol.ts'

const { client, transact, send, read, refuses, at, mineAt, now, owner, heir, stranger, diamond, ...on } =
  await useProtocol()

const ADD = 0
const REPLACE = 1
const REMOVE = 2
const DELAY = 2n * DAY
const paused = toFunctionSelector('isPaused()')
const fresh = toFunctionSelector('name()')

/** A contract to mount: a test token has functions that the protocol lacks. */
const facet = await on.deploy('TestToken', ['Facet', 'F', 6])

type Cut = { readonly facetAddress: Hex; readonly action: number; readonly functionSelectors: readonly Hex[] }

const propose = async (cuts: readonly Cut[], init: Hex = zeroAddress, data: Hex = '0x') => {
  const { logs, time } = await send(owner, 'diamondCut', [cuts, init, data])
  const id = (await read('getAllCutIds')).at(-1)
  if (id === undefined) throw new Error('no proposal')
  const eta = (await time()) + DELAY
  expect(logs).toEqual([['CutProposed', { proposalId: id, eta }]])
  return { id, eta }
}

const add: Cut = { facetAddress: facet, action: ADD, functionSelectors: [fresh] }

test('a cut waits 48 hours, then changes the functions, and the loupe lists them', async () => {
  const { id, eta } = await propose([add])
  expect(await read('getProposal', [id])).toEqual({
    status: 0,
    executeAfter: eta,
    initAddress: zeroAddress,
    initCalldata: '0x',
  })
  expect(await read('getPendingCutIds')).toEqual([id])
  await mineAt(eta - 1n)
  await refuses('Timelock not elapsed', owner, 'executeCut', [id])
  await refuses('Not owner', stranger, 'executeCut', [id])
  await at(eta)
  const { logs } = await send(owner, 'executeCut', [id])
  expect(logs).toEqual([
    ['CutExecuted', { proposalId: id }],
    [
      'DiamondCut',
      {
        _diamondCut: [{ ...add, facetAddress: expect.stringMatching(new RegExp(facet, 'i')) }],
        _init: zeroAddress,
        _calldata: '0x',
      },
    ],
  ])
  expect(await read('facetAddress', [fresh])).toBe(facet)
  expect(await read('facetFunctionSelectors', [facet])).toEqual([fresh])
  expect((await read('facetAddresses')).at(-1)).toBe(facet)
  expect(await read('getPendingCutInfo', [id])).toEqual({ eta, executed: true, cancelled: false })
  expect(await read('getPendingCutIds')).toEqual([])
  expect(await read('getAllCutIds')).toEqual([id])
  await refuses('Already executed', owner, 'executeCut', [id])
  await refuses('Already executed', owner, 'cancelCut', [id])
})

test('a cut can be cancelled, and expires when it is executed too late', async () => {
  const first = await propose([add])
  await refuses('Not owner', stranger, 'cancelCut', [first.id])
  expect((await send(owner, 'cancelCut', [first.id])).logs).toEqual([['CutCancelled', { proposalId: first.id }]])
  await refuses('Already cancelled', owner, 'executeCut', [first.id])
  await refuses('Already cancelled', owner, 'cancelCut', [first.id])
  expect((await read('getProposal', [first.id])).status).toBe(1)

  const second = await propose([add])
  await mineAt(second.eta + 30n * DAY)
  await refuses('success', owner, 'executeCut', [second.id])
  await mineAt(second.eta + 30n * DAY + 1n)
  await refuses('Proposal expired', owner, 'executeCut', [second.id])
  await refuses('Proposal not found', owner, 'executeCut', [`0x${'12'.repeat(32)}`])
  await refuses('Not owner', stranger, 'diamondCut', [[add], zeroAddress, '0x'])
  await refuses('Empty cut', owner, 'diamondCut', [[], zeroAddress, '0x'])
})

test('two equal cuts in one block are two proposals', async () => {
  const first = await propose([add])
  const second = await propose([add])
  expect(first.id).not.toBe(second.id)
})

test.each<[string, Cut, string]>([
  ['adds a function that exists', { facetAddress: facet, action: ADD, functionSelectors: [paused] }, 'Function exists'],
  [
    'replaces what is not there',
    { facetAddress: facet, action: REPLACE, functionSelectors: [fresh] },
    'Function not found',
  ],
  [
    'removes what is not there',
    { facetAddress: zeroAddress, action: REMOVE, functionSelectors: [fresh] },
    'Function not found',
  ],
])('a cut that %s is rejected when executed', async (_, cut, reason) => {
  const { id, eta } = await propose([cut])
  await mineAt(eta)
  await refuses(reason, owner, 'executeCut', [id])
})

test.each<[string, Cut, Hex, string]>([
  ['has no selectors', { ...add, functionSelectors: [] }, zeroAddress, 'No selectors'],
  ['adds from an address without code', { ...add, facetAddress: heir }, zeroAddress, 'Facet has no code'],
  [
    'replaces with an address without code',
    { ...add, action: REPLACE, facetAddress: heir },
    zeroAddress,
    'Facet has no code',
  ],
  ['removes from a named facet', { ...add, action: REMOVE }, zeroAddress, 'Facet must be zero'],
  ['has an initialiser without code', add, heir, 'Init has no code'],
])('a cut that %s is rejected when queued', async (_, cut, init, reason) => {
  await refuses(reason, owner, 'diamondCut', [[cut], init, '0x'])
  await refuses('success', owner, 'diamondCut', [[add], zeroAddress, '0x'])
})

test('a queued facet or initialiser that lost its code is rejected when executed', async () => {
  const initialiser = await on.deploy('TestToken', ['Init', 'I', 6])
  const facetGone = await propose([add])
  const initGone = await propose([{ ...add, facetAddress: diamond }], initialiser)
  await mineAt(initGone.eta)
  await client.setCode({ address: facet, bytecode: '0x' })
  await client.setCode({ address: initialiser, bytecode: '0x' })
  await refuses('Facet has no code', owner, 'executeCut', [facetGone.id])
  await refuses('Init has no code', owner, 'executeCut', [initGone.id])
})

test('a function can be replaced by another facet’s function but not by itself, and can be removed', async () => {
  const old = await read('facetAddress', [paused])
  const same = await propose([{ facetAddress: old, action: REPLACE, functionSelectors: [paused] }])
  const other = await propose([{ facetAddress: facet, action: REPLACE, functionSelectors: [paused] }])
  const removal = await propose([{ facetAddress: zeroAddress, action: REMOVE, functionSelectors: [paused] }])
  await mineAt((await now()) + DELAY)
  await refuses('Same function', owner, 'executeCut', [same.id])
  await send(owner, 'executeCut', [other.id])
  expect(await read('facetAddress', [paused])).toBe(facet)
  expect((await read('facetFunctionSelectors', [old])).includes(paused)).toBe(false)
  await send(owner, 'executeCut', [removal.id])
  expect(await read('facetAddress', [paused])).toBe(zeroAddress)
  expect(await read('facetAddresses')).not.toContain(facet)
  await expect(read('isPaused')).rejects.toThrow('Function not found')
})

test('an initialiser runs with the cut, and a cut whose initialiser fails is rejected', async () => {
  const failing = await propose([add], facet, '0xdeadbeef')
  const good = await propose([], facet, toFunctionSelector('name()'))
  await mineAt((await now()) + DELAY)
  await refuses('Init reverted', owner, 'executeCut', [failing.id])
  await refuses('success', owner, 'executeCut', [good.id])
})

test('the delays equal their views', async () => {
  expect(await read('TIMELOCK_DELAY')).toBe(172_800n)
  expect(await read('MAX_PROPOSAL_AGE')).toBe(2_592_000n)
  const facets = await read('facets')
  expect(facets).toHaveLength(9)
  expect(facets.flatMap(({ functionSelectors }) => functionSelectors)).toHaveLength(74)
})

test('ownership moves in two steps, and the storage agrees with the views', async () => {
  const slot = async (offset: bigint) => {
    const base = 0xc8fcad8db84d3cc18b4c41d551ea0ee66dd599cde068d998e57d5e09332c131cn
    return (await client.getStorageAt({ address: diamond, slot: `0x${(base + offset).toString(16)}` }))?.slice(26)
  }
  await refuses('Not owner', stranger, 'transferOwnership', [stranger])
  await refuses('Zero address', owner, 'transferOwnership', [zeroAddress])
  expect((await send(owner, 'transferOwnership', [heir])).logs).toEqual([
    ['OwnershipTransferStarted', { currentOwner: owner, pendingOwner: heir }],
  ])
  expect([await read('owner'), await read('pendingOwner')]).toEqual([owner, heir])
  expect([await slot(4n), await slot(5n)]).toEqual([owner.slice(2).toLowerCase(), heir.slice(2).toLowerCase()])
  await refuses('Not pending owner', stranger, 'acceptOwnership', [])
  expect((await send(heir, 'acceptOwnership', [])).logs).toEqual([
    ['OwnershipTransferred', { previousOwner: owner, newOwner: heir }],
    ['OracleAdminSet', { admin: zeroAddress }],
  ])
  expect([await read('owner'), await read('pendingOwner')]).toEqual([heir, zeroAddress])
  await refuses('Not owner', owner, 'pause', [])
})

test('coins sent to the diamond are rejected', async () => {
  await expect(transact(owner, diamond, '0x', 1n)).rejects.toThrow('reverted')
  expect(await client.getBalance({ address: diamond })).toBe(0n)
})
