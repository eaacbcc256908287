import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { SandboxState } from '../../../src/sandbox/controls/messages.ts'
import { parseDecimal } from '../text/input.ts'
import { runControl } from './controls.ts'
import { saved } from './saved.ts'
import { clockText, eventText, payingRate } from './texts.ts'
import { usePageEvent, useSandboxState } from './use-state.ts'
import type { Wallet } from './wallet.ts'

const HOUR = 3_600
const DAY = 86_400

/** The index has a change some polls after its chain. The pages read again what is old when they become visible. */
const INDEXED_MS = 1_000
const refreshPage = (): void => void setTimeout(() => dispatchEvent(new Event('visibilitychange')), INDEXED_MS)

type Field = { readonly label: string; readonly children: ComponentChildren }

const Field = ({ label, children }: Field) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is its child
  <label>
    {label}
    {children}
  </label>
)

type TextProps = { readonly value: string; readonly mode?: 'numeric' | 'decimal'; readonly set: (text: string) => void }

const Text = ({ value, set, mode = 'decimal' }: TextProps) => (
  <input inputMode={mode} maxLength={24} value={value} onInput={({ currentTarget }) => set(currentTarget.value)} />
)

type SelectProps = {
  readonly value: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly set: (value: string) => void
}

const Select = ({ value, options, set }: SelectProps) => (
  <select value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
    {options.map(([key, text]) => (
      <option key={key} value={key}>
        {text}
      </option>
    ))}
  </select>
)

type Props = Pick<SandboxState, 'chains' | 'accounts'> & { readonly wallet: Wallet; readonly first: string }

/** What a control did, or why it did not. */
type Outcome = { readonly text: string; readonly isFailure: boolean }

/** A number that was typed; NaN, which no control takes, for other text. */
const whole = (text: string): number => (/^\d{1,15}$/.test(text.trim()) ? Number(text) : Number.NaN)

const Controls = ({ wallet, chains, accounts, first, isOpen }: Props & { readonly isOpen: boolean }) => {
  const [account, setAccount] = useState(first)
  const [chainId, setChainId] = useState(chains[0]?.chainId ?? 0)
  const [eventNumber, setEventNumber] = useState('1')
  const [typedRate, setTypedRate] = useState<string | null>(null)
  const [tokenAt, setTokenAt] = useState('0')
  const [amount, setAmount] = useState('10000')
  const [blocks, setBlocks] = useState('3')
  const [isBusy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome | null>(null)

  const eventId = whole(eventNumber)
  const { state, refresh } = useSandboxState(chainId, eventId > 0 ? eventId : null, isOpen)
  const event = state?.event ?? null
  const rate = typedRate ?? (event === null ? '' : payingRate(event))
  const tokens = chains.find((chain) => chain.chainId === chainId)?.tokens ?? []
  const token = tokens[Number(tokenAt)] ?? tokens[0]
  const accountName = accounts.find(({ address }) => address === account)?.name ?? ''

  usePageEvent((shown) => {
    setChainId(shown.chainId)
    setEventNumber(String(shown.eventId))
    setTypedRate(null)
  })

  const run = async (name: string, body: object): Promise<void> => {
    setBusy(true)
    setOutcome(null)
    try {
      setOutcome({ text: await runControl(name, body), isFailure: false })
      await refresh()
      refreshPage()
    } catch (error) {
      setOutcome({ text: error instanceof Error ? error.message : String(error), isFailure: true })
    } finally {
      setBusy(false)
    }
  }
  /** A button that runs a control. */
  const button = (text: string, name: string, body: () => object) => (
    <button type="button" aria-disabled={isBusy} onClick={() => isBusy || void run(name, body())}>
      {text}
    </button>
  )
  const settlement = (oracles: number) => () => ({
    ...{ chainId, eventId, oracles },
    rate: String(parseDecimal(rate, 6) ?? ''),
  })

  return (
    <>
      <fieldset>
        <legend>Wallet</legend>
        <Field label="Account">
          <Select
            value={account}
            options={accounts.map(({ address, name }) => [
              address,
              `${name}, ${address.slice(0, 6)}…${address.slice(-4)}`,
            ])}
            set={(address) => {
              setAccount(address)
              saved.write('account', address)
              wallet.chooseAccount(address)
            }}
          />
        </Field>
      </fieldset>
      <fieldset>
        <legend>Time</legend>
        <p>{state && clockText(state.time, state.aheadSeconds)}</p>
        <div class="row">
          {button('1 hour later', 'advance-time', () => ({ seconds: HOUR }))}
          {button('1 day later', 'advance-time', () => ({ seconds: DAY }))}
        </div>
      </fieldset>
      <fieldset>
        <legend>Event</legend>
        <div class="row">
          <Field label="Chain">
            <Select
              value={String(chainId)}
              options={chains.map((chain) => [String(chain.chainId), chain.name])}
              set={(id) => {
                setChainId(Number(id))
                setTypedRate(null)
              }}
            />
          </Field>
          <Field label="Event number">
            <Text
              mode="numeric"
              value={eventNumber}
              set={(text) => {
                setEventNumber(text)
                setTypedRate(null)
              }}
            />
          </Field>
        </div>
        <p>{state && (event === null ? 'There is no such event.' : eventText(event, state.time))}</p>
        <div class="row">{button('Advance to its expiry', 'advance-to-expiry', () => ({ chainId, eventId }))}</div>
        <div class="row">
          <Field label="Settlement rate">
            <Text value={rate} set={setTypedRate} />
          </Field>
          {button('Settle', 'submit-rates', settlement(2))}
          {button('Submit one rate', 'submit-rates', settlement(1))}
        </div>
      </fieldset>
      <fieldset>
        <legend>Tokens</legend>
        <div class="row">
          <Field label="Amount">
            <Text value={amount} set={setAmount} />
          </Field>
          <Field label="Token">
            <Select value={tokenAt} options={tokens.map(({ symbol }, at) => [String(at), symbol])} set={setTokenAt} />
          </Field>
          {button(`Mint to ${accountName}`, 'mint', () => ({
            ...{ chainId, account, token: token?.address },
            amount: String(parseDecimal(amount, token?.decimals ?? 0) ?? ''),
          }))}
        </div>
      </fieldset>
      <fieldset>
        <legend>Reorg</legend>
        <div class="row">
          <Field label="Blocks">
            <Text mode="numeric" value={blocks} set={setBlocks} />
          </Field>
          {button('Make a reorg', 'reorg', () => ({ chainId, blocks: whole(blocks) }))}
        </div>
      </fieldset>
      <div class={`outcome ${outcome?.isFailure ? 'failure' : ''}`} role="status">
        {isBusy ? 'Working…' : outcome?.text}
      </div>
    </>
  )
}

/** The wallet's account and the controls of the sandbox, behind a tab at the edge of every page. */
export const Panel = (props: Props) => {
  const [isOpen, setOpen] = useState(saved.read('open') === 'yes')
  const toggle = useRef<HTMLButtonElement>(null)
  // Saved at once: the page may be left before it is painted.
  const open = (is: boolean): void => {
    saved.write('open', is ? 'yes' : 'no')
    setOpen(is)
  }
  const close = (): void => {
    open(false)
    toggle.current?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what has the focus inside
    <div class="panel" onKeyDown={({ key }) => key === 'Escape' && isOpen && close()}>
      <button
        ref={toggle}
        type="button"
        class="toggle"
        aria-expanded={isOpen}
        aria-controls="controls"
        onClick={() => open(!isOpen)}
      >
        Sandbox
      </button>
      <section id="controls" aria-label="Sandbox controls" hidden={!isOpen}>
        <header>
          <h2>Sandbox</h2>
          <button type="button" aria-label="Close the sandbox controls" onClick={close}>
            Close
          </button>
        </header>
        <Controls {...props} isOpen={isOpen} />
      </section>
    </div>
  )
}
