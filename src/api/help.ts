import type { ErrorCode } from '../lib/errors.ts'

const GUIDE = 'v1/docs/guide/errors'

/** Most folders of a path. Real paths have fewer; above it the header is left out. */
const MAX_DEPTH = 16

/**
 * The value of the `Link` header of an error: the section of the guide about its code, relative to the URL of the request, because a
 * proxy may serve the API below a path.
 */
export const helpLink = (url: string, code: ErrorCode): string | undefined => {
  const [path = ''] = url.replace(/^[a-z]+:\/\/[^/?]*/i, '').split('?', 1)
  const folders = path.split('/').length - 2
  if (!path.startsWith('/') || folders > MAX_DEPTH) return undefined
  return `<${folders === 0 ? './' : '../'.repeat(folders)}${GUIDE}#${code}>; rel="help"`
}
