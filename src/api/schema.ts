import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler } from 'fastify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { z } from 'zod'
import { refusal, safeParse } from '../lib/http/parse.ts'
import { hints } from '../protocol/fields/request-fields.ts'
import { meantName } from './names.ts'
import { isIgnored } from './response-cache/key.ts'

/** Most faults in an error, and most characters of a name in it. */
const MAX_FAULTS = 20
const MAX_NAME = 64

const shown = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name)

/** A suggestion of the known name that may be meant, if there is one. */
const suggestion = (name: string, known: readonly string[]): string => {
  const meant = meantName(name, known)
  return meant === undefined ? '' : `; did you mean '${meant}'?`
}

/** The names of the fields that a schema has at a path. */
const fieldsAt = (schema: unknown, path: readonly PropertyKey[]): readonly string[] => {
  if (schema instanceof z.ZodOptional) return fieldsAt(schema.unwrap(), path)
  if (schema instanceof z.ZodPipe) return fieldsAt(schema.out, path)
  const [key, ...rest] = path
  if (schema instanceof z.ZodArray) return fieldsAt(schema.element, rest)
  if (!(schema instanceof z.ZodObject)) return []
  return key === undefined ? Object.keys(schema.shape) : fieldsAt(schema.shape[String(key)], rest)
}

/** The fault of a parameter's name or of its repetition, whose value is a list; null when there is none. */
const faultOf = (name: string, value: unknown, known: readonly string[], hint: string | undefined): string | null => {
  if (known.includes(name)) return Array.isArray(value) ? `expected once, got ${value.length} times` : null
  return `unknown parameter '${shown(name)}'${hint === undefined ? suggestion(name, known) : `; ${hint}`}`
}

/** Parses a query without its ignored parameters. Repeated and unknown parameters are faults. */
const parseQuery = <S extends z.ZodObject>(schema: S, value: object): z.ZodSafeParseResult<z.output<S>> => {
  const query = Object.entries(value).filter(([name]) => !isIgnored(name))
  const known = Object.keys(schema.shape)
  const hinted = new Map(Object.entries(hints.get(schema) ?? {}))
  const faults: z.core.$ZodIssue[] = []
  for (const [name, given] of query) {
    if (faults.length === MAX_FAULTS) break
    const message = faultOf(name, given, known, hinted.get(name))
    if (message !== null) faults.push({ code: 'custom', path: [shown(name)], message, input: undefined })
  }
  const parsed = safeParse(schema, Object.fromEntries(query))
  if (faults.length === 0) return parsed
  const named = new Set(faults.map(({ path }) => path[0]))
  const others = parsed.error?.issues.filter(({ path }) => !named.has(path[0])) ?? []
  return { success: false, error: new z.ZodError([...faults, ...others].slice(0, MAX_FAULTS)) as never }
}

/** Makes a value of each schema once, however many apps of a process have it. */
export const perSchema = <T extends object>(make: (schema: z.ZodType) => T): ((schema: z.ZodType) => T) => {
  const made = new WeakMap<z.ZodType, T>()
  return (schema) => {
    const known = made.get(schema) ?? make(schema)
    made.set(schema, known)
    return known
  }
}

const compiledBody = perSchema((schema) => z.compile(schema))

/** Parses path, query and body by their zod schemas. The handler gets the decoded values. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = 'request' }) => {
  const part = httpPart === 'querystring' ? 'query' : httpPart
  // Bodies have many fields: compiled, those of `create-event` are decoded in a third of the time.
  const compiled = httpPart === 'body' ? compiledBody(schema) : schema
  return (value: unknown) => {
    const isQuery = httpPart === 'querystring' && schema instanceof z.ZodObject
    const parsed = isQuery ? parseQuery(schema, Object(value)) : safeParse(compiled, value)
    if (parsed.success) return { value: parsed.data }
    return { error: refusal(parsed.error.issues, part, value, (key, path) => suggestion(key, fieldsAt(schema, path))) }
  }
}

const compiledSerializer = perSchema((schema): ((value: unknown) => string) => {
  const jsonSchema = z.toJSONSchema(schema, {
    // Without ids the parts of a schema are inlined, as the compiler of serializers requires.
    metadata: z.registry<z.core.GlobalMeta>(),
    override: ({ jsonSchema }) => {
      // Responses may gain fields. Zod closes objects for inputs.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return fastJsonStringify(jsonSchema as fastJsonStringify.Schema)
})

/** Compiles the zod schema of a response to a serializer. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> = ({ schema }) => compiledSerializer(schema)
