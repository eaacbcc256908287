import type { ErrorCode } from '../lib/errors.ts'
import { relativeUrl } from './link.ts'

/** The value of the `Link` header of an error: the section of the guide about its code. */
export const helpLink = (url: string, code: ErrorCode): string | undefined => {
  const guide = relativeUrl(url, 'v1/docs/guide/errors')
  return guide && `<${guide}#${code}>; rel="help"`
}
