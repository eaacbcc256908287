/** A link of OpenAPI: the next operation, and where its input is in this one. */
type Link = {
  readonly operationId: string
  readonly description: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly requestBody?: Readonly<Record<string, string>>
}

type Links = Readonly<Record<string, Link>>

const broadcast: Links = {
  broadcast: {
    operationId: 'postTxBroadcast',
    description: 'Sign the transaction and send it; a wallet may also send it to a node of its own',
    requestBody: { chainId: '$response.body#/data/chainId' },
  },
}

/** The read of what a transaction created. */
const created = (operationId: string, ids: string): Link => ({
  operationId,
  description: `The record that the transaction created, for each of \`created.${ids}\``,
  parameters: { chainId: '$request.path.chainId', id: `$response.body#/data/created/${ids}/0/id` },
})

/** The builder of a claim on the record that was read. */
const claim = (operationId: string, argument: string, when: string): Link => ({
  operationId,
  description: when,
  requestBody: { chainId: '$request.path.chainId', [argument]: '$request.path.id' },
})

const byOperation: Readonly<Record<string, Links>> = {
  postTxBroadcast: {
    result: {
      operationId: 'getTransactionsByHash',
      description: 'What became of the transaction; with `waitMs` it waits until the transaction is mined and indexed',
      parameters: { chainId: '$request.body#/chainId', hash: '$response.body#/data/txHash' },
    },
  },
  getTransactionsByHash: {
    event: created('getHedgeEventsById', 'eventIds'),
    deposit: created('getHedgeDepositsById', 'depositIds'),
    position: created('getHedgePositionsById', 'positionIds'),
  },
  getHedgePositionsById: {
    claimPayout: claim(
      'buildClaimPayout',
      'positionId',
      'When `payoutAmount` is greater than 0 and `claimed` is false',
    ),
  },
  getHedgeDepositsById: {
    claimPremiums: claim('buildClaimPremiums', 'depositId', 'When `premiumsEarned` is greater than `premiumsClaimed`'),
    withdrawCapital: claim('buildWithdrawCapital', 'depositId', 'When the event is settled and `withdrawn` is false'),
  },
}

/** The links of a success of an operation: build, broadcast, transaction, record, claim. */
export const linksOf = (operationId: string): Links | undefined =>
  /^(?:build|plan)[A-Z]/.test(operationId) ? broadcast : byOperation[operationId]

/** The operations that links lead to. */
export const linkTargets: readonly string[] = [broadcast, ...Object.values(byOperation)].flatMap((links) =>
  Object.values(links).map(({ operationId }) => operationId),
)
