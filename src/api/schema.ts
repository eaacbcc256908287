import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler } from 'fastify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { z } from 'zod'
import { refusal } from '../lib/parse.ts'
import { compileDecoder } from '../protocol/decode.ts'
import { parseQuery } from './query.ts'

/** Parses path, query and body by their zod schemas. The handler gets the decoded values. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = 'request' }) => {
  const part = httpPart === 'querystring' ? 'query' : httpPart
  const decode = httpPart === 'body' ? compileDecoder(schema) : undefined
  return (value: unknown) => {
    const decoded = decode?.(value)
    if (decoded !== undefined) return { value: decoded }
    const isQuery = httpPart === 'querystring' && schema instanceof z.ZodObject
    const parsed = isQuery ? parseQuery(schema, Object(value)) : schema.safeParse(value)
    if (parsed.success) return { value: parsed.data }
    return { error: refusal(parsed.error.issues, part) }
  }
}

const serializers = new WeakMap<z.ZodType, (value: unknown) => string>()

const compileSerializer = (schema: z.ZodType): ((value: unknown) => string) => {
  const jsonSchema = z.toJSONSchema(schema, {
    // Without ids the parts of a schema are inlined, as the compiler of serializers requires.
    metadata: z.registry<z.core.GlobalMeta>(),
    override: ({ jsonSchema }) => {
      // Responses may gain fields. Zod closes objects for inputs.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return fastJsonStringify(jsonSchema as fastJsonStringify.Schema)
}

/** Compiles the zod schema of a response to a serializer, once per schema. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> = ({ schema }) => {
  const serialize = serializers.get(schema) ?? compileSerializer(schema)
  serializers.set(schema, serialize)
  return serialize
}
