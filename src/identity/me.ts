import { z } from 'zod'
import { upstream } from '../lib/errors.ts'
import { Address20 } from '../protocol/fields/request-fields.ts'
import { Account } from '../protocol/fields/response-fields.ts'

/** The user that a bearer token identifies. */
export const Me = z
  .object({
    address: Account,
    email: z.email().nullable(),
    phoneNumber: z.string().nullable(),
    externalId: z.string().nullable(),
    user: z.string(),
  })
  .meta({ id: 'Me' })

export type Me = z.output<typeof Me>

/**
 * For each field the paths in a provider's answer, in order of preference. A path is keys and indexes joined by dots.
 */
export type Claims = { readonly [Field in keyof Me]: readonly string[] }

/** OpenID's standard claims, and the paths that wallet providers use. */
export const defaultClaims: Claims = {
  user: ['sub', 'id'],
  email: ['email'],
  phoneNumber: ['phone_number'],
  externalId: ['external_id'],
  address: ['address', 'wallets.0.address', 'wallets.0', 'wallet.address'],
}

/** Maximum length of a claim in characters: OpenID allows 255 for a user, and e-mail addresses are shorter. */
const MAX_CLAIM = 256

/** A longer claim counts as missing. It is not truncated, because two truncated claims may be equal. */
const Text = z.string().min(1).max(MAX_CLAIM)
const Email = Text.pipe(z.email())

const Node = z.record(z.string(), z.unknown()).or(z.array(z.unknown()))

const at = (answer: unknown, place: string): unknown =>
  place.split('.').reduce<unknown>((value, key) => {
    const node = Node.safeParse(value)
    return node.success ? Object.entries(node.data).find(([name]) => name === key)?.[1] : undefined
  }, answer)

/**
 * The first path whose value fits the field. OpenID's own `address`, for example, is a postal address and not a wallet.
 */
const first = <T>(answer: unknown, places: readonly string[], field: z.ZodType<T>): T | null => {
  for (const place of places) {
    const value = field.safeParse(at(answer, place))
    if (value.success) return value.data
  }
  return null
}

/**
 * Reads a provider's answer by a table of claims. Throws `upstream_error` when the answer has no user or no wallet
 * address.
 */
export const meOf = (answer: unknown, claims: Claims): Me => {
  const user = first(answer, claims.user, Text)
  const address = first(answer, claims.address, Address20)
  if (user === null) throw upstream("the identity provider's answer has no user: check IDENTITY_CLAIMS")
  if (address === null) throw upstream("the identity provider's answer has no wallet address: check IDENTITY_CLAIMS")
  return {
    address,
    email: first(answer, claims.email, Email),
    phoneNumber: first(answer, claims.phoneNumber, Text),
    externalId: first(answer, claims.externalId, Text),
    user,
  }
}
