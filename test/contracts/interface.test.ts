import { readdirSync, readFileSync } from 'node:fs'
import { type Abi, toEventSelector, toFunctionSelector } from 'viem'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { diamonds, mountedOf } from '../../src/sandbox/deploy.ts'

/** Selectors of the deployed interface. */
const selectors: Record<string, string> = {
  createEvent: '0x3c5039f6',
  deposit: '0xe2bbb158',
  buyProtection: '0xf4ed1b8b',
  claimPayout: '0x8a69614e',
  claimPremiums: '0xe00aafac',
  withdrawCapital: '0xd95b0a12',
  setPoolSettings: '0x79f389c3',
  withdrawCreatorEarnings: '0x95e6de4e',
  settleEvent: '0x169b405a',
  initializeHedgeFees: '0x1538fdc2',
  pause: '0x8456cb59',
  unpause: '0x3f4ba83a',
  activateOracleV2: '0x29a2ebee',
  setOracleAdmin: '0x7bc635cb',
  setPricingEngineSigner: '0x093a52fa',
  withdrawPlatformFees: '0x6aa21416',
  withdrawPlatformFeesByToken: '0x72e53e24',
  rescueETH: '0x04824e70',
  rescueERC20: '0x5d799f87',
  setAllowedPaymentToken: '0x1d3c6674',
  recoverExpiredPayouts: '0xd06be38e',
  getTotalHedgeEvents: '0xe4cb2929',
  getHedgeEventCore: '0x54b994d9',
  getHedgeEventRange: '0xe8cf64e8',
  getHedgeEventStats: '0x09864ee1',
  getPoolUtilization: '0xce43f1d7',
  getEventPositionIds: '0x5a8ff039',
  getEventDepositIds: '0x6435ec20',
  getHedgePosition: '0x32b42381',
  getHedgerPositionIds: '0x8ff6060b',
  getHedgeLpDeposit: '0x034d4543',
  getLpDepositIds: '0xfaada976',
  pendingPremiums: '0x78b132fd',
  getCreatorEventIds: '0x7a400b48',
  quoteRangePayout: '0x5445ddab',
  getHedgeFeeConfig: '0x6fae94dc',
  isPaused: '0xb187bd26',
  getPricingEngineSigner: '0xff4e2418',
  isFeesInitialized: '0xdf7a01a6',
  isQuoteNonceUsed: '0x82224e95',
  getEventQuoteSigner: '0xd702b3ea',
  getEventPaymentToken: '0x60a34115',
  isAllowedPaymentToken: '0xa7bfaadd',
  getPlatformFeesByToken: '0x6b7734d1',
  getHedgePlatformFees: '0x6e958318',
  pendingOwner: '0xe30c3978',
  submitRate: '0x701d10bb',
  addOracle: '0xdf5dd1a5',
  removeOracle: '0xfdc85fc4',
  setRequiredSigners: '0xa502afe0',
  setToleranceBps: '0xab4c6b9c',
  clearStaleSubmissions: '0x6e67b4f0',
  getOracleConfig: '0x290338d9',
  getOracles: '0x40884c52',
  getAllSubmissions: '0x45d2a6cb',
  getSubmission: '0x55f0e221',
  getSubmitterCount: '0xed440fa8',
  isAuthorisedOracle: '0x83b91c53',
  transferOwnership: '0xf2fde38b',
  acceptOwnership: '0x79ba5097',
  owner: '0x8da5cb5b',
  diamondCut: '0x1f931c1c',
  executeCut: '0xe9143174',
  cancelCut: '0x55cb2751',
  getProposal: '0x430694cf',
  getAllCutIds: '0xa73829f9',
  getPendingCutIds: '0x4b71162f',
  getPendingCutInfo: '0x303aad29',
  TIMELOCK_DELAY: '0x5ba1c1a9',
  MAX_PROPOSAL_AGE: '0xb6b5d65f',
  facets: '0x7a0ed627',
  facetFunctionSelectors: '0xadfca15e',
  facetAddresses: '0x52ef6b2c',
  facetAddress: '0xcdffacc6',
}

/** First topics of the deployed interface. */
const topics: Record<string, string> = {
  HedgeEventCreated: '0x971a52d02f8b95a7a75a0f42d1fb5ab027b59b71c15f1f6095e5323ddd308736',
  LiquidityDeposited: '0xbff736a88c4d6fc1bc430cb94a5d36706a0d4b369de04ea80fc121296def3cb2',
  ProtectionPurchased: '0x4481909ec72817de979b2b76609a83284e6faacdfa26174543ad38431274eed5',
  PoolSettingsUpdated: '0x91168d48b9240ee3059444dacca37122d663dd2a212f491af648f9fe733cb4d3',
  EventSettled: '0x9d600f76ea7e6201bdc900dea5f2d9a1aa9d83f3c187af0c656a2bb8808af84d',
  OracleEventSettled: '0x4061e8e3bea075f368082ee1bc3800047b135f174290951aab239c40435ccee3',
  PayoutClaimed: '0x24f674754703db9424a67666c326f9c26bd165c6026777f3d07c30ec01e5bc99',
  PremiumsClaimed: '0x7fcd5811b67c01fbab956ba7f51998165dc179a1c85871593ffc88a2b8458181',
  CapitalWithdrawn: '0x9ca0f165c44ea878808d27f4cd7273e7cc425439f1486eb543a1d5934a218209',
  CreatorEarningsWithdrawn: '0xc6b01235e3dc2da2adb1687c4ae0054b79e6a0a33040a4733f8e7f5ae8daf95b',
  ExpiredPayoutsRecovered: '0x20ebea691e9b02a13a39b5f7e29374d0597a40b421c41d8f3b8642cdf3c6c354',
  FeesInitialized: '0x6ce101cb6cb99a02e6a8165fc72e52ebb9b7589bd91c07b282dbd65d0afaee06',
  PlatformFeesWithdrawn: '0xfc7ad544ff6a06d6499925723d25b6fe70457a42939995b1d3d6f560fe336333',
  PlatformFeesByTokenWithdrawn: '0x5785c1e00c46b3817139ccb465e442677c9678dbf5794e09ea109b58e722ab66',
  OracleAdminSet: '0x5ca2ddf29a84ff3e5dc765346280921019ad8f79bb698051642067c486349528',
  OracleV2Activated: '0xc85d20797e3bd0cbc3f82aed2ccc560a2e476f636eeccd7bdefc0f1546c494e7',
  PricingEngineSignerSet: '0x0924c32749880269534c3ef1da95bd400dda99aec127fc74c5a55d9f7b0acfdd',
  Paused: '0x62e78cea01bee320cd4e420270b5ea74000d11b0c9f74754ebdbfc544b05a258',
  Unpaused: '0x5db9ee0a495bf2e6ff9c91a7834c1ba4fdd244a5e8aa4e537bd38aeae4b073aa',
  ETHRescued: '0xb3579861130e4da8bb7b87c54d2d139937f23bcd6e4ebed9e75d0f78ab1cc118',
  ERC20Rescued: '0x8bbfbb5d7fcacf6fc74005cdede0635561638507f576c95f7f294c22141be2e5',
  PaymentTokenSet: '0xffdce9f9df20da8850cebaa94fe36deeda0706dc51aff3d633615f70cbc3a9d0',
  OracleAdded: '0x0047706786c922d17b39285dc59d696bafea72c0b003d3841ae1202076f4c2e4',
  OracleRemoved: '0x9c8e7d83025bef8a04c664b2f753f64b8814bdb7e27291d7e50935f18cc3c712',
  OracleConfigUpdated: '0xb41a7d63ac4bcd91b617433dfbcee4eabd378e3ca1baed149a6d0d38a2c6a4c4',
  RateSubmitted: '0xf6c7725afff2a96de25de4dfd40883768700a82a0fce2680ca04c99f0d08739b',
  ConsensusReached: '0x3e6419c31075e906f53833687bdd13105225b8cf0010d6b2ed1226ee526eb8eb',
  SubmissionsCleared: '0xb93045919957ba66e1237a31f58422816f5ec0bed02ae5a23b79ce80b0727c38',
  OwnershipTransferStarted: '0x38d16b8cac22d99fc7c124b9cd0de2d3fa1faef420bfe791d8c362d765e22700',
  OwnershipTransferred: '0x8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0',
  DiamondCut: '0x8faa70878671ccd212d20771b795c50af8fd3ff6cf27f4bde57e5d4de0aeb673',
  CutProposed: '0xf3b85f89cd47aebebeb08e5a33b52f85d439217dec889bdeb26bf974c5bdb6a6',
  CutExecuted: '0xa1a0ac873c8783a53a3894276ae096d022c74a662925adc3dd1b364a5024355a',
  CutCancelled: '0x270a0a6483db0690f1a8ad44e8c16a5108f41ac3517605209898982527fa3c0a',
}

const abi: Abi = protocolAbi
const functions = abi.filter((item) => item.type === 'function')

test('the functions are those of the deployed interface, selector by selector', () => {
  const ours = Object.fromEntries(functions.map((item) => [item.name, toFunctionSelector(item)]))
  expect(ours).toEqual(selectors)
})

test('the logs are those of the deployed interface; the three creation logs have both names and one shape', () => {
  const own = Object.fromEntries(
    abi.flatMap((item) => (item.type === 'event' ? [[item.name, toEventSelector(item)]] : [])),
  )
  const { EventCreated, DepositCreated, PositionCreated, ...shared } = own
  const { HedgeEventCreated, LiquidityDeposited, ProtectionPurchased, ...expected } = topics
  expect(shared).toEqual(expected)
  expect(Object.fromEntries(deployedLogsAbi.map((item) => [item.name, toEventSelector(item)]))).toEqual({
    HedgeEventCreated,
    LiquidityDeposited,
    ProtectionPurchased,
  })
  expect([EventCreated, DepositCreated, PositionCreated].every(Boolean)).toBe(true)
  const inputs = (name: string) =>
    [...protocolAbi, ...deployedLogsAbi].find((item) => item.type === 'event' && item.name === name)?.inputs
  expect(inputs('EventCreated')).toEqual(inputs('HedgeEventCreated'))
  expect(inputs('DepositCreated')).toEqual(inputs('LiquidityDeposited'))
  expect(inputs('PositionCreated')).toEqual(inputs('ProtectionPurchased'))
})

const timelock = [
  'executeCut',
  'cancelCut',
  'getProposal',
  'getAllCutIds',
  'getPendingCutIds',
  'getPendingCutInfo',
  'TIMELOCK_DELAY',
  'MAX_PROPOSAL_AGE',
]

test.each([
  ['reference', []],
  ['deployed', ['owner', ...timelock]],
] as const)('the %s profile mounts each function once, and no others', (profile, absent) => {
  const mounted = diamonds[profile].facets.flatMap((facet) => mountedOf(profile, facet))
  const expected = Object.entries(selectors).filter(([name]) => !absent.some((it) => it === name))
  expect(mounted.sort()).toEqual(expected.map(([, selector]) => selector).sort())
})

/** Solidity files by their path in `contracts/`, without those that only tests use. */
const sources = new Map(
  readdirSync('contracts', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sol') && !name.startsWith('mocks'))
    .map((name) => [name, readFileSync(`contracts/${name}`, 'utf8')]),
)

test('every source requires the installed compiler version', () => {
  const { devDependencies } = z
    .object({ devDependencies: z.object({ solc: z.string() }) })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const pragma = `pragma solidity ${devDependencies.solc};`
  expect([...sources].filter(([, text]) => !text.includes(pragma)).map(([name]) => name)).toEqual([])
})

test('every function of an interface is documented', () => {
  const bare = [...sources]
    .filter(([name]) => name.startsWith('interfaces/'))
    .flatMap(([, text]) => [...text.matchAll(/^(.*)\n +function (\w+)/gm)])
    .filter(([, before]) => !before?.trim().startsWith('///'))
    .map(([, , name]) => name)
  expect(bare).toEqual([])
})

test('every facet inherits the interface of its functions', () => {
  const facets = [...sources].filter(([name]) => name.endsWith('Facet.sol'))
  expect(facets).toHaveLength(15)
  const without = facets.filter(([, text]) => !/contract \w+Facet is [^{]*\b(I[A-Z]\w+|\w+Facet)\b/.test(text))
  expect(without.map(([name]) => name)).toEqual([])
})

test('every revert reason is defined in one library and is tested', () => {
  const library = sources.get('libraries/Reasons.sol') ?? ''
  const literal = [...sources].filter(([, text]) => /(require|revert)\([^;]*"/.test(text)).map(([name]) => name)
  expect(literal).toEqual([])
  const reasons = [...library.matchAll(/constant (\w+)\s*=\s*"([^"]+)";/g)]
  expect(reasons.length).toBeGreaterThan(60)
  const code = [...sources.values()].join('\n')
  expect(reasons.filter(([, name]) => !code.includes(`Reasons.${name}`)).map(([, name]) => name)).toEqual([])
  const tests = readdirSync('test/contracts')
    .filter((name) => name.endsWith('.service.test.ts'))
    .map((name) => readFileSync(`test/contracts/${name}`, 'utf8'))
    .join('\n')
  expect(reasons.filter(([, , text]) => !tests.includes(`'${text}'`)).map(([, , text]) => text)).toEqual([])
})
