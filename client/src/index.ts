/** The public names of the package. */
export { parseAmount } from './amounts.ts'
export { type Change, type ChangesOptions, followChanges } from './changes.ts'
export { type Client, createClient } from './client.ts'
export { ApiError, type ConnectionCode, ConnectionError, FxProtectionError, type Reorg, ReorgError } from './errors.ts'
export { type Executed, type ExecuteOptions, executePlan, type Plan, type Transaction } from './execute.ts'
export { type FollowOptions, followSettlements, type Settlement } from './follow.ts'
export { formatAmount } from './formulas.generated.ts'
export { type ListOptions, listRows } from './lists.ts'
export { createRequests, type Requests } from './requests.ts'
export type { Waiting } from './settle.ts'
export {
  breakEven,
  type Cost,
  capacityOf,
  costOf,
  describeEvent,
  describePurchase,
  greatestPayout,
  netPayout,
  payoutAt,
  type Range,
} from './terms.ts'
export { createTransport, type Transport, type TransportOptions } from './transport.ts'
export type {
  CallOptions,
  DeletePath,
  DeleteResult,
  GetPath,
  GetResult,
  ListPath,
  Params,
  PostPath,
  PostResult,
  RequestBody,
  Row,
  Schemas,
} from './types.ts'
export { type ExecutionCode, ExecutionError, type Wallet } from './wallet.ts'
export { type VerifyOptions, verifyWebhook, type WebhookCode, WebhookError, type WebhookMessage } from './webhooks.ts'
