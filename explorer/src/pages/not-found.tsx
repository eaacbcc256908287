import { Link } from 'wouter-preact'

export const NotFoundPage = () => (
  <>
    <h1>No such page</h1>
    <p>
      The address may be mistyped. <Link href="/">Go to the start</Link>, or search for a wallet, a transaction or a
      pair.
    </p>
  </>
)
