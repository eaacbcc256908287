/*
 * One sandbox from its first start on, for all tests that need one: a start takes about 30 s of a core. The
 * tests of the first part only add entities; then it stops, resumes and loses its parts. Quotes come first: they are
 * signed only while the chains' clocks are right, and the lifecycle skips time. The explorer comes last before the stop:
 * its journey skips weeks. A run of the default form has one of the last three parts.
 */
import './sandbox/start.ts'
import './sandbox/quotes.ts'
import './sandbox/lifecycle.ts'
import './sandbox/typed-client.ts'
import './sandbox/wallets.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { sandboxTurn } from '../support/turns.ts'

const hasTurn = (part: number): boolean => byForm(sandboxTurn(seed) === part, true)

if (hasTurn(0)) await import('./sandbox/guide.ts')
if (hasTurn(1)) {
  await import('./sandbox/browser.ts')
  await import('./sandbox/explorer.ts')
}
if (hasTurn(2)) await import('./sandbox/restart.ts')
