import { createClient } from 'fx-protection-client'
import { serviceUrl } from '../base.ts'

/** The client of the API. An answer that has not changed is not sent again. */
export const client = createClient({ baseUrl: serviceUrl, cache: true, attempts: 3 })
