import type { Schemas } from 'fx-protection-client'
import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { type Chain, useChains } from '../api/chains.ts'
import { useApi } from '../api/queries.ts'
import { CodeText } from '../parts/code-text.tsx'
import { Facts, Pill, type Tone } from '../parts/facts.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { Empty, Read } from '../parts/state.tsx'
import { useTitle } from '../parts/title.ts'
import { Account, Time, Transaction } from '../parts/values.tsx'
import { isHash, shortHex } from '../text/address.ts'
import { weiText } from '../text/amount.ts'
import { callParts, finalityText, logParts, type Part } from '../text/sentences.ts'
import { chainJson, chainText } from '../text/terms.ts'
import { timeText } from '../text/time.ts'
import { tokenOfLog } from '../text/tokens.ts'

type Tx = Schemas['Transaction']
type Of = { readonly tx: Tx; readonly chain: Chain | undefined }

const states: Readonly<Record<Tx['status'], readonly [word: string, tone: Tone]>> = {
  succeeded: ['succeeded', 'good'],
  reverted: ['reverted', 'bad'],
  pending: ['waits for a block', 'warn'],
  unknown: ['not found', 'plain'],
}

const Sentence = ({ parts }: { readonly parts: readonly Part[] }) => (
  <>
    {parts.map((part, index) =>
      typeof part === 'string' ? (
        part
      ) : (
        <Link key={index} href={part.href}>
          {part.text}
        </Link>
      ),
    )}
  </>
)

const Arguments = ({ name, args }: { readonly name: string; readonly args: object }) => (
  <details>
    <summary>Arguments</summary>
    <Scroll label={`Arguments of ${chainText(name)}`}>
      <pre>
        <code>{`${chainText(name)}\n${chainJson(args)}`}</code>
      </pre>
    </Scroll>
  </details>
)

/** Why it reverted, and what to do. */
const Revert = ({ revert }: { readonly revert: NonNullable<Tx['revert']> }) => {
  const known = useApi('/v1/reverts', { code: revert.code })
  const cause = known.data?.data[0]?.cause
  return (
    <section class="problem reverted">
      <p>
        <strong>It reverted: {chainText(revert.reason, 300)}</strong> <code>{chainText(revert.code)}</code>
      </p>
      {cause !== undefined && (
        <p>
          <CodeText text={cause} />
        </p>
      )}
      <p>
        <CodeText text={chainText(revert.hint, 500)} />
      </p>
      {!revert.exact && <p class="muted">The reason is that of the same call, repeated at the block before.</p>}
    </section>
  )
}

/** A revert without its reason. */
const Reasonless = ({ isPending }: { readonly isPending: boolean }) => (
  <p class="notice">
    {isPending ? 'The reason for the revert is being looked for.' : 'No node has the reason for the revert.'}
  </p>
)

const created = [
  ['event', 'eventIds'],
  ['deposit', 'depositIds'],
  ['position', 'positionIds'],
] as const

const Created = ({ tx }: Of) => {
  const rows = created.flatMap(([kind, field]) => tx.created[field].map(({ id, owner }) => ({ kind, id, owner })))
  if (rows.length === 0 && !tx.createdIncomplete) return null
  return (
    <section class="card">
      <h2>What it created</h2>
      <ul class="plain">
        {rows.map(({ kind, id, owner }) => (
          <li key={`${kind} ${id}`}>
            <Link href={`/${kind}/${tx.chainId}/${id}`}>
              {kind} {id}
            </Link>{' '}
            of <Account address={owner} />
          </li>
        ))}
      </ul>
      {tx.createdIncomplete && <p class="muted">It may have created more than that.</p>}
    </section>
  )
}

const Calls = ({ tx, chain }: Of) => {
  if (tx.calls === null || tx.calls.length === 0) return null
  const where = { chainId: tx.chainId, protocol: chain?.diamond ?? '', token: null }
  return (
    <section class="card">
      <h2>What it asked for</h2>
      {tx.calls.map(({ function: name, args }) => (
        <div key={name}>
          <p>
            <Sentence parts={callParts(name, args, where)} />
          </p>
          <Arguments name={name} args={args} />
        </div>
      ))}
    </section>
  )
}

/** The logs as sentences. The activity of the block has the tokens of their amounts. */
const Logs = ({ tx, chain, block }: Of & { readonly block: number }) => {
  const activity = useApi('/v1/activity', {
    ...{ chainId: tx.chainId, from: `${block}`, to: `${block}`, limit: 200 },
  })
  const rows = (activity.data?.data ?? []).filter(({ txHash }) => txHash === tx.hash)
  const hidden = tx.logsOmitted + tx.unknownLogs.length + tx.unknownLogsOmitted
  return (
    <section class="card">
      <h2>What happened</h2>
      {tx.logs.length === 0 ? (
        <p>No log of the protocol.</p>
      ) : (
        <ol class="sentences">
          {tx.logs.map(({ name, args, address }, index) => {
            const token = tokenOfLog({ name, args, address }, rows, chain)
            const where = { chainId: tx.chainId, protocol: chain?.diamond ?? '', token }
            return (
              <li key={index}>
                <Sentence parts={logParts(name, args, where)} />
                <Arguments name={`${name} of ${address}`} args={args} />
              </li>
            )
          })}
        </ol>
      )}
      {hidden > 0 && <p class="muted">{hidden} further logs are not shown in words: the API has them.</p>}
      {tx.logsIncomplete && <p class="muted">The receipt is too long, so that only logs of the protocol are shown.</p>}
    </section>
  )
}

const Operations = ({ tx }: Of) => {
  if (tx.userOperations.length === 0) return null
  return (
    <section class="card">
      <h2>User operations that failed</h2>
      <ul class="plain">
        {tx.userOperations.map(({ hash, sender, revert }) => (
          <li key={hash}>
            <span class="hash">{shortHex(hash)}</span> of <Account address={sender} />:{' '}
            {revert === null
              ? 'the reason is not known.'
              : `${chainText(revert.reason, 300)}. ${chainText(revert.hint, 500)}`}
          </li>
        ))}
      </ul>
    </section>
  )
}

const Summary = ({ tx, chain }: Of) => (
  <section class="card">
    <h2>Where it is</h2>
    <Facts
      facts={[
        ['Chain', chain?.name ?? tx.chainId],
        ...(tx.block === null
          ? []
          : ([
              ['Block', tx.block.number],
              [
                'Time',
                <span key="time">
                  {timeText(tx.block.timestamp)} (<Time at={tx.block.timestamp} />)
                </span>,
              ],
              ['Confirmations', tx.confirmations],
            ] as const)),
        ...(tx.finality === null ? [] : ([['Finality', finalityText[tx.finality]]] as const)),
        ...(tx.fee === null
          ? []
          : ([
              ['Fee', `${weiText(tx.fee.total)} ${chainText(chain?.symbol ?? '', 12)}`],
              ['Gas used', tx.fee.gasUsed.toLocaleString('en-GB')],
            ] as const)),
        ['Indexed', tx.indexed ? 'yes' : 'not yet: lists do not have it'],
      ]}
    />
  </section>
)

/** Where else a transaction that this chain does not have may be. */
const NotFound = ({ tx, chain }: Of) => {
  const others = useChains().filter(({ chainId }) => chainId !== tx.chainId)
  return (
    <>
      <p class="lead">
        No node of {chain?.name ?? `chain ${tx.chainId}`} has this transaction. Its sender may have sent it to another
        node.
      </p>
      <p class="actions">
        {others.map(({ chainId, name }) => (
          <Link key={chainId} class="button plain" href={`/tx/${chainId}/${tx.hash}`}>
            Look on {name}
          </Link>
        ))}
      </p>
    </>
  )
}

const Page = ({ tx, chain }: Of) => {
  const [word, tone] = states[tx.status]
  return (
    <>
      <h1>
        Transaction <Pill tone={tone}>{word}</Pill>
      </h1>
      <p class="hash wrap">{tx.hash}</p>
      {tx.dropped && (
        <p class="notice">
          Another transaction took its nonce, so that it cannot be mined
          {tx.replacedBy !== null && (
            <>
              : <Transaction chainId={tx.chainId} hash={tx.replacedBy} />
            </>
          )}
          .
        </p>
      )}
      {tx.status === 'unknown' ? (
        <NotFound tx={tx} chain={chain} />
      ) : (
        <>
          {tx.revert !== null && <Revert revert={tx.revert} />}
          {tx.revert === null && tx.revertStatus !== 'none' && <Reasonless isPending={tx.revertStatus === 'pending'} />}
          <div class="columns">
            <Summary tx={tx} chain={chain} />
            {tx.block !== null && tx.status === 'succeeded' && <Logs tx={tx} chain={chain} block={tx.block.number} />}
            <Created tx={tx} chain={chain} />
            <Calls tx={tx} chain={chain} />
          </div>
          <Operations tx={tx} chain={chain} />
        </>
      )}
    </>
  )
}

const Watched = ({ chainId, hash }: { readonly chainId: string; readonly hash: string }) => {
  const [isOpen, setIsOpen] = useState(true)
  const chain = useChains().find((known) => `${known.chainId}` === chainId)
  const tx = useApi('/v1/transactions/{chainId}/{hash}', { chainId: Number(chainId), hash }, { live: isOpen })
  const state = tx.data?.data
  // A final transaction with its reason does not change.
  const isFinal = state?.finality === 'finalized' && state.indexed && state.revertStatus !== 'pending'
  useEffect(() => setIsOpen(!isFinal), [isFinal])
  return (
    <Read of={tx} shape="page">
      {({ data }) => <Page tx={data} chain={chain} />}
    </Read>
  )
}

/** A transaction in words: its state, what it asked for, what it created and what happened. */
export const TransactionPage = ({ chainId, hash }: { readonly chainId: string; readonly hash: string }) => {
  const isValid = isHash(hash)
  useTitle(isValid ? `Transaction ${shortHex(hash)}` : 'Not a transaction')
  if (isValid) return <Watched key={`${chainId} ${hash}`} chainId={chainId} hash={hash} />
  return (
    <>
      <h1>Not a transaction</h1>
      <Empty>
        The hash of a transaction is 0x and 64 hexadecimal digits. Search again, or{' '}
        <Link href="/">go to the start</Link>.
      </Empty>
    </>
  )
}
