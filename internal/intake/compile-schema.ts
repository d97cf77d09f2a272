import { Ajv, str, type ValidateFunction } from 'ajv'
import { z } from 'zod'
import { parseInstant } from '../units/instant.js'
import { hasBytesAtMost } from './plain-text.js'

const ajv = new Ajv({
  allErrors: true,
  // Counting UTF-16 units is three times as fast as code points; `bytesMax` counts exactly.
  unicode: false,
  // It says on the console that the option above is deprecated.
  logger: false,
  strict: true,
  allowUnionTypes: true,
})
ajv.addKeyword({
  keyword: 'bytesMax',
  type: 'string',
  validate: (bytesMax: number, text: string) => hasBytesAtMost(text, bytesMax),
  error: { message: ({ schemaCode }) => str`must have at most ${schemaCode} bytes` },
})
ajv.addKeyword({
  keyword: 'instant',
  type: 'string',
  validate: (_: boolean, text: string) => parseInstant(text) !== undefined,
})

/**
 * Makes a validator for the hot path out of a zod schema: under 1 us an event where zod itself takes 2.4.
 * Unknown properties are allowed: they are ignored, never stored (design section 7).
 */
export const compileSchema = <T>(schema: z.ZodType<T>): ValidateFunction<T> =>
  ajv.compile<T>(z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as object)
