import type { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** Whether a value is a schema object. JSON Schema also allows a boolean as schema. */
export const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null
