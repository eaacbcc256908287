/*
 * One sandbox from its first start on, for all tests that need one: a start takes about 30 s of a core. The
 * tests of the first part only add entities; then it stops, resumes and loses its parts. Quotes come first: they are
 * signed only while the chains' clocks are right, and the lifecycle skips time. The explorer comes last before the stop:
 * its journey skips weeks.
 */
import './sandbox/start.ts'
import './sandbox/quotes.ts'
import './sandbox/lifecycle.ts'
import './sandbox/typed-client.ts'
import './sandbox/wallets.ts'
import './sandbox/browser.ts'
import './sandbox/guide.ts'
import './sandbox/explorer.ts'
import './sandbox/restart.ts'
