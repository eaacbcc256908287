import { createChannel } from '../lib/observe/channel.ts'
import type { Posted } from './post.ts'

/** Reports every attempt to deliver a webhook in this process. */
export const attempts = createChannel<{ readonly endpoint: string }, Posted>('fx-protection:webhook')
