import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(import.meta.url)

const { version }: { readonly version: string } = require('#package')

/** The version of this package. */
export const release = version

/** What `build.ts` writes into the build. The sources do not have it. */
declare const BUILD_COMMIT: string | null

/** The commit that the build was made of, with `-dirty` for other changes; null where it is not known. */
export const commit = typeof BUILD_COMMIT === 'undefined' ? null : BUILD_COMMIT

/** The URL of a data file of this package. It is the same for the sources and for the build. */
export const packaged = (path: string): URL => new URL(path, pathToFileURL(require.resolve('#package')))
