import type { ErrorObject } from 'ajv'
import { z } from 'zod'
import { FORM_OF_PATTERN } from './plain-text.js'

/**
 * What a value must be, for the sender: the messages of zod and ajv name their own types and patterns, and no form.
 */

/** For zod, which asks it where a schema has no message of its own. */
export function expectedForm(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      // Of a text, zod says that an integer is to be a number.
      return mustBe(issue.inst instanceof z.ZodNumberFormat ? 'int' : String(issue.expected))
    case 'too_small':
      return atMostOrLeast('least', Number(issue.minimum), String(issue.origin), issue.inclusive === false)
    case 'too_big':
      return atMostOrLeast('most', Number(issue.maximum), String(issue.origin), issue.inclusive === false)
    case 'invalid_format':
      return formOf(String(issue.pattern).replace(/^\/|\/\w*$/g, ''))
    case 'invalid_value':
      return oneOf(issue.values as readonly unknown[])
    case 'unrecognized_keys':
      return `has unknown members: ${issue.keys.join(', ')}`
    case 'invalid_union':
      return anyOf(issue.errors as readonly (readonly z.core.$ZodIssue[])[])
    default:
      return NO_FORM
  }
}

/** The same of ajv. */
export function expectedByAjv({ keyword, params, message = NO_FORM }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return [params['type'] as string | string[]].flat().map(mustBe).join(', or ')
    case 'enum':
      return oneOf(params['allowedValues'] as readonly unknown[])
    case 'const':
      return oneOf([params['allowedValue']])
    case 'pattern':
      return formOf(String(params['pattern']))
    case 'minimum':
    case 'maximum':
      return atMostOrLeast(keyword === 'minimum' ? 'least' : 'most', Number(params['limit']), 'number')
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return atMostOrLeast(keyword === 'exclusiveMinimum' ? 'least' : 'most', Number(params['limit']), 'number', true)
    default: {
      const [, end, counted = ''] = /^(min|max)(Length|Items|Properties)$/.exec(keyword) ?? []
      if (end !== undefined) return atMostOrLeast(end === 'min' ? 'least' : 'most', Number(params['limit']), counted)
      return OF_AJV.has(keyword) ? NO_FORM : message
    }
  }
}

/** Its own keywords without a case above; every other one is ours, and has a message of ours. */
const OF_AJV = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'if', 'propertyNames', 'multipleOf', 'format', 'uniqueItems'])

const NO_FORM = 'is not valid'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'an integer',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  null: 'null',
}
const mustBe = (type: string): string => `must be ${TYPES[type] ?? 'an object'}`

const formOf = (pattern: string): string => FORM_OF_PATTERN[pattern] ?? 'does not have the required form'

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.map(String).join(', ')}`

const COUNTED: Readonly<Record<string, string>> = {
  string: 'character',
  Length: 'character',
  array: 'entr',
  set: 'entr',
  Items: 'entr',
  object: 'member',
  record: 'member',
  map: 'member',
  Properties: 'member',
}

function atMostOrLeast(end: 'most' | 'least', limit: number, counted: string, isExclusive = false): string {
  const unit = COUNTED[counted]
  if (unit === undefined) {
    return isExclusive ? `must be ${end === 'least' ? 'above' : 'below'} ${limit}` : `must be at ${end} ${limit}`
  }
  const plural = unit === 'entr' ? (limit === 1 ? 'y' : 'ies') : limit === 1 ? '' : 's'
  return `must have at ${end} ${limit} ${unit}${plural}`
}

/** The forms of the alternatives, where each names one and none is about a part of the value. */
function anyOf(errors: readonly (readonly z.core.$ZodIssue[])[]): string {
  const whole = errors.map(([issue]) =>
    issue !== undefined && issue.path.length === 0 && issue.code !== 'unrecognized_keys' ? issue.message : NO_FORM,
  )
  return whole.includes(NO_FORM) || whole.length === 0 ? NO_FORM : [...new Set(whole)].join(', or ')
}
