import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link, useLocation, useRoute } from 'wouter-preact'
import { useNotUpdatedSince } from '../api/freshness.ts'
import { serviceUrl } from '../base.ts'
import { timeText } from '../text/time.ts'
import { useDismiss } from './dismiss.ts'
import { Requests } from './requests.tsx'
import { Search } from './search.tsx'
import { useHeadingTitle } from './title.ts'

const pages = [
  ['/events', 'Events'],
  ['/quote', 'Quote'],
  ['/act', 'Act'],
  ['/status', 'Status'],
] as const

const Tab = ({ href, text }: { readonly href: string; readonly text: string }) => {
  const [isCurrent] = useRoute(`${href}/*?`)
  return (
    <Link href={href} aria-current={isCurrent ? 'page' : undefined}>
      {text}
    </Link>
  )
}

/** One line while values of the page are old, because the service does not answer. */
const NotUpdated = () => {
  const since = useNotUpdatedSince()
  return (
    <div class="stale" role="status">
      {since !== null && <p>Not updated since {timeText(since)}: the service does not answer as it should.</p>}
    </div>
  )
}

/** The frame of every page. `account` is the button of the wallet. */
export const Layout = ({
  children,
  account,
}: {
  readonly children: ComponentChildren
  readonly account: ComponentChildren
}) => {
  const [open, setOpen] = useState(false)
  const [path] = useLocation()
  const menu = useRef<HTMLButtonElement>(null)
  useHeadingTitle(path)
  useEffect(() => setOpen(false), [path])
  useDismiss(
    open,
    () => setOpen(false),
    menu,
    (target) => target.closest('#tabs, .menu') !== null,
  )
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link href="/" class="brand">
          <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
            <path
              d="M2 17h7l6-10h7"
              fill="none"
              stroke="currentColor"
              stroke-width="3"
              stroke-linecap="round"
              stroke-linejoin="round"
            />
          </svg>
          FX protection
        </Link>
        <button
          ref={menu}
          type="button"
          class="menu plain"
          aria-expanded={open}
          aria-controls="tabs"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
        <nav id="tabs" class={open ? 'open' : ''} aria-label="Pages">
          {pages.map(([href, text]) => (
            <Tab key={href} href={href} text={text} />
          ))}
          <a href={`${serviceUrl}/v1/docs`}>Docs</a>
        </nav>
        <Search />
        {account}
      </header>
      <main id="main">{children}</main>
      <footer>
        <Requests />
        <p class="muted">
          Everything here is read from the <a href={`${serviceUrl}/v1/docs`}>public API</a>. Times are UTC.
        </p>
      </footer>
      <NotUpdated />
    </>
  )
}
