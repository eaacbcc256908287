import { BaseError } from 'viem'
import { ZodError } from 'zod'
import { clip, errorText } from '../../lib/errors.ts'

/** A control that cannot do what was asked for; the message is for the person who pressed the button. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const MAX_TEXT = 300

/** HTTP status and text of an error. A body is rejected with 400 and the field; what a node rejects is a 502. */
export const failureOf = (error: unknown): { readonly status: number; readonly text: string } => {
  if (error instanceof ControlError) return { status: error.status, text: error.message }
  if (error instanceof ZodError) {
    const [issue] = error.issues
    return { status: 400, text: clip(`${issue?.path.join('.') || 'body'}: ${issue?.message}`, MAX_TEXT) }
  }
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 502
  return { status, text: clip(error instanceof BaseError ? error.shortMessage : errorText(error), MAX_TEXT) }
}
