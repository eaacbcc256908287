import { useQueryClient } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useApi } from '../api/queries.ts'
import { explorerPath, serviceUrl } from '../base.ts'
import { Pill } from '../parts/facts.tsx'
import { type Execution, forgetExecution, isRunning } from './execution.ts'
import { createdBy } from './plan-text.ts'
import { sentenceText } from './sentence.ts'

type SentProps = { readonly chainId: number; readonly hash: string; readonly isDone: boolean }

/** A transaction that was sent, and how far it is. */
const Sent = ({ chainId, hash, isDone }: SentProps) => {
  const { data } = useApi('/v1/transactions/{chainId}/{hash}', { chainId, hash }, { live: !isDone })
  const { status = 'pending', indexed = false } = data?.data ?? {}
  const isMined = status === 'succeeded' || isDone
  return (
    <li>
      {/* In a page of its own: this one shows the progress. */}
      <a href={`${explorerPath}/tx/${chainId}/${hash}`} class="hash" title={hash} target="_blank" rel="noreferrer">
        {hash.slice(0, 10)}…{hash.slice(-6)}
      </a>{' '}
      {status === 'reverted' ? (
        <Pill tone="bad">reverted</Pill>
      ) : (
        <>
          <Pill tone="good">sent</Pill> <Pill tone={isMined ? 'good' : 'plain'}>{isMined ? 'mined' : 'mining…'}</Pill>{' '}
          {isMined && (
            <Pill tone={indexed || isDone ? 'good' : 'plain'}>{indexed || isDone ? 'indexed' : 'indexing…'}</Pill>
          )}
        </>
      )}
    </li>
  )
}

const Done = ({ execution: { executed, plan } }: { readonly execution: Execution }) => {
  const queries = useQueryClient()
  // What the pages show of before is out of date.
  useEffect(() => void queries.invalidateQueries(), [queries])
  const created = executed === undefined ? [] : createdBy(executed)
  return (
    <>
      <p>
        <strong>Done.</strong> It is mined and indexed.
      </p>
      <p class="actions">
        {created.map(({ kind, id }) => (
          <Link key={`${kind} ${id}`} href={`/${kind}/${plan.chainId}/${id}`} class="button">
            Open {kind} {id}
          </Link>
        ))}
        <Link href={`/wallet/${plan.from}`} class="button plain">
          Your holdings
        </Link>
        <button type="button" class="plain" onClick={forgetExecution}>
          Plan another one
        </button>
      </p>
    </>
  )
}

const Failed = ({ execution: { failure } }: { readonly execution: Execution }) => {
  if (failure === undefined) return null
  const { code, message, hint, maybeSent } = failure
  return (
    <div class="problem" role="alert">
      <p>
        {code === 'user_rejected' ? (
          <strong>You declined the request in the wallet.</strong>
        ) : (
          <>
            <strong>It was not completed.</strong> {sentenceText(message)} <span class="muted">{hint}</span>
          </>
        )}{' '}
        <a href={`${serviceUrl}/v1/docs/guide/errors#execution`}>What this means</a>
      </p>
      <button type="button" class="small" onClick={forgetExecution}>
        {maybeSent ? 'It was not sent: try again' : 'Try again'}
      </button>
    </div>
  )
}

/** What a running execution waits for. */
const Stage = ({
  execution: { phase, uncertain, walletName, hashes, batches, plan },
}: {
  readonly execution: Execution
}) => {
  if (uncertain !== undefined)
    return (
      <>
        <strong>{walletName} answered with an error:</strong> {sentenceText(uncertain)} It is being checked whether the
        wallet sent the transaction all the same. This can take 3 minutes.
      </>
    )
  if (phase === 'asking')
    return (
      <>
        <strong>Confirm in {walletName}.</strong> The wallet shows the request.
      </>
    )
  return (
    <>
      <strong>Sent.</strong>{' '}
      {batches === 0 && plan.steps.length > hashes.length
        ? `${hashes.length} of ${plan.steps.length} transactions. ${walletName} shows the next one when this one is mined.`
        : 'Waiting until it is mined and indexed.'}
    </>
  )
}

/** How far an execution is: what the wallet is asked, what was sent, and what came of it. */
export const Progress = ({ execution }: { readonly execution: Execution }) => {
  const { phase, hashes, plan } = execution
  return (
    <section class="progress" aria-live="polite" aria-label="Progress">
      {isRunning(execution) && (
        <p>
          <Stage execution={execution} />
        </p>
      )}
      {hashes.length > 0 && (
        <ol class="sent">
          {hashes.map((hash) => (
            <Sent key={hash} chainId={plan.chainId} hash={hash} isDone={phase === 'done'} />
          ))}
        </ol>
      )}
      {phase === 'done' && <Done execution={execution} />}
      {phase === 'failed' && <Failed execution={execution} />}
      {isRunning(execution) && <p class="muted">Stay on this page until it is done.</p>}
    </section>
  )
}
