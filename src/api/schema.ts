import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler } from 'fastify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { z } from 'zod'
import { type ErrorDetail, invalid } from '../lib/errors.ts'

/** One detail a fault; each unknown key is a fault of its own. What concerns a part as a whole is named after it (`body`). */
const details = (issues: readonly z.core.$ZodIssue[], part: string): ErrorDetail[] =>
  issues.flatMap((issue) => {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    const message = issue.code === 'unrecognized_keys' ? 'unknown field' : issue.message
    return paths.map((path) => ({ path: path.length === 0 ? part : path.join('.'), message }))
  })

/** Parses path, query and body by their zod schemas; the handler gets what they decode to. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = 'request' }) => {
  const part = httpPart === 'querystring' ? 'query' : httpPart
  return (value: unknown) => {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { value: parsed.data }
    const faults = details(parsed.error.issues, part)
    return { error: invalid(faults.map(({ path, message }) => `${path}: ${message}`).join('; '), faults) }
  }
}

const serializers = new WeakMap<z.ZodType, (value: unknown) => string>()

const compileSerializer = (schema: z.ZodType): ((value: unknown) => string) => {
  const jsonSchema = z.toJSONSchema(schema, {
    // Without their ids the parts of a schema are inlined, which is what the compiler of serializers wants.
    metadata: z.registry<z.core.GlobalMeta>(),
    override: ({ jsonSchema }) => {
      // Responses may gain fields: zod's closed objects are for inputs.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return fastJsonStringify(jsonSchema as fastJsonStringify.Schema)
}

/** Compiles a response's zod schema to a serializer, once a schema. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> = ({ schema }) => {
  const serialize = serializers.get(schema) ?? compileSerializer(schema)
  serializers.set(schema, serialize)
  return serialize
}
