/* Tests of one sandbox, to which they only add entities. */
import './sandbox/lifecycle.ts'
import './sandbox/quotes.ts'
import './sandbox/typed-client.ts'
