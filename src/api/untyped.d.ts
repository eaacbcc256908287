/** Parts of packages that come without types. */

declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    encodings<T extends string>(available: readonly T[], options: { readonly preferred: readonly T[] }): T[]
  }
}
