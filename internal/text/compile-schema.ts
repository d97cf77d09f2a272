import { Ajv, type ErrorObject, str, type ValidateFunction } from 'ajv'
import { z } from 'zod'
import { isUuid } from '../ids/ids.js'
import { parseInstant } from '../units/instant.js'
import {
  AMOUNT_TEXT,
  FORM_OF_PATTERN,
  hasBytesAtMost,
  isAmount,
  isModelText,
  isPlainText,
  MODEL_TEXT,
  PLAIN_TEXT,
  UUID_TEXT,
} from './plain-text.js'

const ajv = new Ajv({
  allErrors: true,
  // Counting UTF-16 units is three times as fast as code points; `bytesMax` counts exactly.
  unicode: false,
  // It says on the console that the option above is deprecated.
  logger: false,
  strict: true,
  // The schemas are ours and tested: to check them at each start costs 50 ms.
  validateSchema: false,
  meta: false,
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
  error: { message: 'must be an RFC 3339 time in UTC' },
})

/** Patterns that a function checks at a third of the cost. */
const FUNCTION_OF_PATTERN: Readonly<Record<string, string>> = {
  [PLAIN_TEXT.source]: addFunction('plainText', PLAIN_TEXT, isPlainText),
  [MODEL_TEXT.source]: addFunction('modelText', MODEL_TEXT, isModelText),
  [UUID_TEXT.source]: addFunction('uuid', UUID_TEXT, isUuid),
  [AMOUNT_TEXT.source]: addFunction('amount', AMOUNT_TEXT, isAmount),
}
function addFunction(keyword: string, { source }: RegExp, isValid: (text: string) => boolean): string {
  const message = FORM_OF_PATTERN[source] ?? ''
  ajv.addKeyword({ keyword, type: 'string', validate: (_: boolean, text: string) => isValid(text), error: { message } })
  return keyword
}

const NO_ERRORS: readonly ErrorObject[] = []

/**
 * Makes a validator out of a zod schema: under 1 us per event where zod itself takes 2.4. Unknown properties are
 * allowed: they are ignored, never stored.
 *
 * It is compiled with the first value: that takes 25 to 60 ms, and common events never need it.
 *
 * @returns a function that lists the errors of a parsed JSON value
 */
export function compileSchema(schema: z.ZodType): (value: unknown) => readonly ErrorObject[] {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(
      z.toJSONSchema(schema, { io: 'input', target: 'draft-7', override: useFunctions }) as object,
    )
    return validate(value) ? NO_ERRORS : (validate.errors ?? NO_ERRORS)
  }
}

function useFunctions({ jsonSchema }: { readonly jsonSchema: { pattern?: string; [keyword: string]: unknown } }): void {
  const keyword = FUNCTION_OF_PATTERN[jsonSchema.pattern ?? '']
  if (keyword === undefined) return
  delete jsonSchema.pattern
  jsonSchema[keyword] = true
}
