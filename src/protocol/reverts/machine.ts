import type { Revert } from './revert.ts'

const functions = [] as const

/** Failures of the virtual machine, and reasons that no other row has. Any function can end in one of them. */
export const machineReverts: readonly Revert[] = [
  {
    code: 'reverted_without_reason',
    reasons: [],
    functions,
    cause: 'The call reverted and returned no reason, as calls of an address without that function do.',
    hint: 'Check that the addresses of the call are contracts of this chain.',
  },
  {
    code: 'unknown_reason',
    reasons: [],
    functions,
    cause: 'The call reverted with a text that the catalogue does not have, which `reason` contains.',
    hint: 'Read the text: it comes from the protocol, the payment token or another contract.',
  },
  {
    code: 'unknown_error',
    reasons: [],
    functions,
    cause: 'The call reverted with an error that the catalogue does not have; `reason` contains its selector.',
    hint: 'Find the selector in the source of the contract or of the payment token.',
  },
  {
    code: 'execution_failed',
    reasons: [],
    functions,
    cause: 'The node could not execute the call to its end, for example because it ran out of gas.',
    hint: 'Check the arguments, and that the account can pay for the gas.',
  },
  {
    code: 'coins_not_accepted',
    reasons: ['Diamond: ETH not accepted. Use USDC.'],
    functions,
    cause: 'The protocol does not accept coins.',
    hint: 'Send the transaction with a `value` of 0.',
  },
  {
    code: 'call_failed',
    reasons: ['Call failed'],
    functions,
    cause: 'One of several combined reads failed.',
    hint: 'Send the reads one by one.',
  },
  {
    code: 'panic_unspecified',
    reasons: ['Panic(0x00)'],
    functions,
    cause: 'The contract reported a fault of the compiler.',
    hint: 'Report it to the owner of the protocol.',
  },
  {
    code: 'assertion_failed',
    reasons: ['Panic(0x01)'],
    functions,
    cause: 'An assertion of the contract failed.',
    hint: 'Report it to the owner of the protocol.',
  },
  {
    code: 'arithmetic_overflow',
    reasons: ['Panic(0x11)'],
    functions,
    cause: 'A number of the calculation is too large, or below 0.',
    hint: 'Send smaller numbers.',
  },
  {
    code: 'division_by_zero',
    reasons: ['Panic(0x12)'],
    functions,
    cause: 'The contract divided by 0, for example because the pool of the event is empty.',
    hint: 'Check the state of the event and the arguments.',
  },
  {
    code: 'bad_enum_value',
    reasons: ['Panic(0x21)'],
    functions,
    cause: 'A number stands for no member of an enumeration.',
    hint: 'Check the arguments.',
  },
  {
    code: 'bad_storage_encoding',
    reasons: ['Panic(0x22)'],
    functions,
    cause: 'A value in the storage of the contract is damaged.',
    hint: 'Report it to the owner of the protocol.',
  },
  {
    code: 'pop_from_empty_array',
    reasons: ['Panic(0x31)'],
    functions,
    cause: 'The contract removed an item from an empty list.',
    hint: 'Report it to the owner of the protocol.',
  },
  {
    code: 'index_out_of_bounds',
    reasons: ['Panic(0x32)'],
    functions,
    cause: 'The contract read beyond the end of a list.',
    hint: 'Report it to the owner of the protocol.',
  },
  {
    code: 'out_of_memory',
    reasons: ['Panic(0x41)'],
    functions,
    cause: 'The call needs too much memory.',
    hint: 'Send shorter texts and lists.',
  },
  {
    code: 'uninitialized_function',
    reasons: ['Panic(0x51)'],
    functions,
    cause: 'The contract called an internal function that is not set.',
    hint: 'Report it to the owner of the protocol.',
  },
]
