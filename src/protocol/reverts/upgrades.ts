import type { Revert } from './revert.ts'

const proposing = ['diamondCut', 'executeCut'] as const
const ofProposal = ['executeCut', 'cancelCut'] as const

/** Missing functions, and upgrades of the proxy (EIP-2535). */
export const upgradeReverts: readonly Revert[] = [
  {
    code: 'function_not_mounted',
    reasons: ['Function not found', 'Diamond: Function does not exist'],
    functions: [],
    cause: 'This deployment of the protocol does not have the called function.',
    hint: 'Do not call it on this chain; `/v1/governance/facets` lists the functions that exist.',
  },
  {
    code: 'cut_of_missing_function',
    reasons: ['Function not found', "LibDiamondCut: Can't remove function that doesn't exist"],
    functions: proposing,
    cause: 'The cut replaces or removes a function that the protocol does not have.',
    hint: 'Replace and remove only functions that `/v1/governance/facets` lists.',
  },
  {
    code: 'function_exists',
    reasons: ['Function exists', "LibDiamondCut: Can't add function that already exists"],
    functions: proposing,
    cause: 'The cut adds a function that the protocol already has.',
    hint: 'Replace the function instead (action 1).',
  },
  {
    code: 'same_function',
    reasons: ['Same function', "LibDiamondCut: Can't replace function with same function"],
    functions: proposing,
    cause: 'The cut replaces a function by itself.',
    hint: 'Leave the function out, or name another facet.',
  },
  {
    code: 'bad_cut_action',
    reasons: ['LibDiamondCut: Incorrect FacetCutAction'],
    functions: proposing,
    cause: 'The action of a cut is unknown.',
    hint: 'Send 0 to add, 1 to replace or 2 to remove functions.',
  },
  {
    code: 'empty_cut',
    reasons: ['Empty cut'],
    functions: ['diamondCut'],
    cause: 'The upgrade has neither cuts nor a contract to call.',
    hint: 'Send at least one cut or an `init` address.',
  },
  {
    code: 'no_selectors',
    reasons: ['No selectors', 'LibDiamondCut: No selectors in facet to cut'],
    functions: proposing,
    cause: 'A cut names no functions.',
    hint: 'Send at least one selector in each cut.',
  },
  {
    code: 'facet_has_no_code',
    reasons: [
      'Facet has no code',
      'Facet address is zero',
      'Facet address has no code (not a contract)',
      "LibDiamondCut: Add facet can't be address(0)",
      "LibDiamondCut: Replace facet can't be address(0)",
    ],
    functions: proposing,
    cause: 'The facet of a cut is not a contract.',
    hint: 'Deploy the facet on this chain first and send its address.',
  },
  {
    code: 'facet_must_be_zero',
    reasons: ['Facet must be zero', 'LibDiamondCut: Remove facet address must be address(0)'],
    functions: proposing,
    cause: 'A cut that removes functions names a facet.',
    hint: 'Send the zero address as `facetAddress` when removing functions.',
  },
  {
    code: 'init_has_no_code',
    reasons: ['Init has no code', 'LibDiamondCut: _init address has no code'],
    functions: proposing,
    cause: 'The contract to call after the cut has no code.',
    hint: 'Deploy it on this chain first, or send the zero address as `init`.',
  },
  {
    code: 'init_reverted',
    reasons: ['Init reverted', 'LibDiamondCut: _init function reverted'],
    functions: proposing,
    cause: 'The call after the cut reverted without a reason.',
    hint: 'Check `init` and `initData`.',
  },
  {
    code: 'proposal_id_collision',
    reasons: ['Proposal ID collision: try again'],
    functions: ['diamondCut'],
    cause: 'Another upgrade has the same id.',
    hint: 'Send the transaction again in a later block.',
  },
  {
    code: 'proposal_not_found',
    reasons: ['Proposal not found', 'Unknown proposal'],
    functions: ofProposal,
    cause: 'The protocol on this chain has no upgrade with this id.',
    hint: 'Check `proposalId` and `chainId`.',
  },
  {
    code: 'already_executed',
    reasons: ['Already executed'],
    functions: ofProposal,
    cause: 'The upgrade is already executed.',
    hint: 'Nothing is left to do: an upgrade is executed once.',
  },
  {
    code: 'already_cancelled',
    reasons: ['Already cancelled', 'Proposal cancelled'],
    functions: ofProposal,
    cause: 'The upgrade was cancelled.',
    hint: 'Queue the upgrade again if it is still wanted.',
  },
  {
    code: 'timelock_not_elapsed',
    reasons: ['Timelock not elapsed', 'Timelock delay not elapsed'],
    functions: ['executeCut'],
    cause: 'The upgrade was queued less than 48 hours ago.',
    hint: 'Send the transaction after `executeAfter` of the proposal.',
  },
  {
    code: 'proposal_expired',
    reasons: ['Proposal expired', 'Proposal expired: re-propose'],
    functions: ['executeCut'],
    cause: 'The upgrade could be executed for 30 days, which are over.',
    hint: 'Queue the upgrade again.',
  },
]
