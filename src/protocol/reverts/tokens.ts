import { payments, pulls, type Revert, transfers } from './revert.ts'

const ofToken = ['transfer', 'transferFrom'] as const

/** Every function that moves tokens of an account, also of the token itself. */
const moves = [...transfers, ...ofToken] as const

/** Payment tokens: the protocol's own checks, ERC-20 tokens of OpenZeppelin 4 and 5, USDC, and BEP-20 tokens. */
export const tokenReverts: readonly Revert[] = [
  {
    code: 'insufficient_allowance',
    reasons: [
      'Insufficient allowance',
      'Transfer amount exceeds allowance',
      'ERC20: transfer amount exceeds allowance',
      'BEP20: transfer amount exceeds allowance',
      'ERC20: insufficient allowance',
      'ERC20InsufficientAllowance(address,uint256,uint256)',
    ],
    functions: [...pulls, 'transferFrom'],
    cause: 'The caller allows the protocol to pull fewer tokens than the call costs.',
    hint: 'Approve the protocol for the whole amount first, with `/v1/tx/erc20/approve`.',
  },
  {
    code: 'insufficient_balance',
    reasons: [
      'Insufficient balance',
      'Transfer amount exceeds balance',
      'ERC20: transfer amount exceeds balance',
      'BEP20: transfer amount exceeds balance',
      'ERC20InsufficientBalance(address,uint256,uint256)',
    ],
    // `rescueERC20` sends the balance that it has read.
    functions: [...payments, ...ofToken],
    cause: 'The account that pays has fewer payment tokens than the call costs.',
    hint: 'Get more of the payment token, or send a smaller amount.',
  },
  {
    code: 'token_transfer_failed',
    reasons: [
      'Token transfer failed',
      'SafeERC20FailedOperation(address)',
      'SafeERC20FailedDecreaseAllowance(address,uint256,uint256)',
      'FailedCall()',
      'FailedInnerCall()',
    ],
    functions: transfers,
    cause: 'The payment token refused the transfer.',
    hint: 'Check in the token whether it is paused or has blocked the account or the protocol.',
  },
  {
    code: 'token_took_a_fee',
    reasons: ['Token took a fee'],
    functions: pulls,
    cause: 'The token delivered less than the amount, as tokens with a fee on transfers do.',
    hint: 'Use an event with another payment token.',
  },
  {
    code: 'token_has_no_code',
    reasons: ['Token has no code', 'AddressEmptyCode(address)'],
    functions: payments,
    cause: 'There is no contract at the address of the token.',
    hint: 'Check the address of the token and `chainId`.',
  },
  {
    code: 'bad_token_decimals',
    reasons: ['Bad token decimals'],
    functions: ['setAllowedPaymentToken', 'initializeHedgeFees', 'createEvent'],
    cause: 'The token does not report a number of decimals up to 36.',
    hint: 'Send the address of an ERC-20 token on this chain.',
  },
  {
    code: 'token_account_blocked',
    reasons: ['Blacklistable: account is blacklisted'],
    functions: [...moves, 'approve'],
    cause: 'The issuer of the token has blocked the caller, the receiver or the protocol.',
    hint: 'Use another account, or contact the issuer of the token.',
  },
  {
    code: 'token_paused',
    reasons: ['Pausable: paused', 'EnforcedPause()'],
    functions: [...moves, 'approve'],
    cause: 'The issuer of the token has paused it.',
    hint: 'Wait until the token is unpaused.',
  },
  {
    code: 'token_bad_address',
    reasons: [
      'ERC20: approve from the zero address',
      'ERC20: approve to the zero address',
      'ERC20: transfer from the zero address',
      'ERC20: transfer to the zero address',
      'BEP20: approve from the zero address',
      'BEP20: approve to the zero address',
      'BEP20: transfer from the zero address',
      'BEP20: transfer to the zero address',
      'ERC20InvalidApprover(address)',
      'ERC20InvalidSpender(address)',
      'ERC20InvalidSender(address)',
      'ERC20InvalidReceiver(address)',
    ],
    // The protocol never sends tokens to or from the zero address.
    functions: [...ofToken, 'approve'],
    cause: 'The token does not accept the address, which in general is the zero address.',
    hint: 'Send the address of an account or of the protocol.',
  },
]
