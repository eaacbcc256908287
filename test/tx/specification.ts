/**
 * The specification's tables of builders: path, function and arguments by the specification's names. Written by hand from the
 * specification and from nothing else, so that the generated ABI and the service's table are held against it.
 */
export const specified: Readonly<Record<string, string>> = {
  '/tx/erc20/approve': 'approve(address spender, uint256 amount)',
  '/tx/hedge/create-event':
    'createEvent((string name, string underlying, uint256 strike, uint256 payoutCap, uint256 premiumRate, uint256 expiry, bool allowExternalLp, uint256 initialLiquidity, uint256 initialRate, bool strikeAbove, address paymentToken, bytes signature, uint256 quoteTimestamp, bytes32 quoteNonce) params)',
  '/tx/hedge/deposit': 'deposit(uint256 eventId, uint256 amount)',
  '/tx/hedge/buy-protection': 'buyProtection(uint256 eventId, uint256 notional, uint256 maxCost, uint256 deadline)',
  '/tx/hedge/claim-payout': 'claimPayout(uint256 positionId)',
  '/tx/hedge/claim-premiums': 'claimPremiums(uint256 depositId)',
  '/tx/hedge/withdraw-capital': 'withdrawCapital(uint256 depositId)',
  '/tx/hedge/set-pool-settings': 'setPoolSettings(uint256 eventId, bool poolOpen, bool allowExternalLp)',
  '/tx/hedge/withdraw-creator-earnings': 'withdrawCreatorEarnings(uint256 eventId)',
  '/tx/oracle/submit-rate': 'submitRate(uint256 eventId, uint256 price)',
  '/tx/hedge/initialize-fees':
    'initializeHedgeFees(uint256 creationFee, uint256 hedgerFeeRate, uint256 payoutFeeRate, uint256 lpProfitFeeRate, uint256 creatorLoyaltyRate)',
  '/tx/hedge/settle-event': 'settleEvent(uint256 eventId, uint256 settlementPrice)',
  '/tx/hedge/pause': 'pause()',
  '/tx/hedge/unpause': 'unpause()',
  '/tx/hedge/activate-oracle-v2': 'activateOracleV2()',
  '/tx/hedge/set-oracle-admin': 'setOracleAdmin(address admin)',
  '/tx/hedge/set-pricing-engine-signer': 'setPricingEngineSigner(address signer)',
  '/tx/hedge/withdraw-platform-fees': 'withdrawPlatformFees(uint256 amount)',
  '/tx/hedge/withdraw-platform-fees-by-token': 'withdrawPlatformFeesByToken(address token, uint256 amount)',
  '/tx/hedge/rescue-eth': 'rescueETH(address to)',
  '/tx/hedge/rescue-erc20': 'rescueERC20(address token, address to)',
  '/tx/hedge/set-allowed-payment-token': 'setAllowedPaymentToken(address token, bool allowed)',
  '/tx/hedge/recover-expired-payouts': 'recoverExpiredPayouts(uint256 eventId)',
  '/tx/oracle/add-oracle': 'addOracle(address oracle)',
  '/tx/oracle/remove-oracle': 'removeOracle(address oracle)',
  '/tx/oracle/set-required-signers': 'setRequiredSigners(uint256 required)',
  '/tx/oracle/set-tolerance-bps': 'setToleranceBps(uint256 bps)',
  '/tx/oracle/clear-stale-submissions': 'clearStaleSubmissions(uint256 eventId)',
  '/tx/ownership/transfer-ownership': 'transferOwnership(address newOwner)',
  '/tx/ownership/accept-ownership': 'acceptOwnership()',
  '/tx/governance/diamond-cut':
    'diamondCut((address facetAddress, uint8 action, bytes4[] functionSelectors)[] cuts, address init, bytes initData)',
  '/tx/governance/execute-cut': 'executeCut(bytes32 proposalId)',
  '/tx/governance/cancel-cut': 'cancelCut(bytes32 proposalId)',
}
