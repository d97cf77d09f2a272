import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FILTER_FIELDS,
  FILTERS_MAX,
  type Field,
  type FieldName,
  LIST_MAX,
  OPERATORS,
  SORT_FIELDS,
} from '../../../internal/filters/filter-fields.js'
import { splitList } from '../../../internal/filters/operand.js'
import { type Condition, digestOf, formatSort, parseFilters, parseSort } from '../../../internal/filters/parse.js'
import { drawn } from '../../support/run/rings.js'

type Parameter = readonly [name: string, value: string]
const parse = (...parameters: readonly Parameter[]) => parseFilters(parameters)
const conditionsOf = (...parameters: readonly Parameter[]): readonly Condition[] => {
  const read = parse(...parameters)
  if (!read.ok) throw new Error(read.fault.detail)
  return read.value
}
const pointerOf = (...parameters: readonly Parameter[]): string | undefined => {
  const read = parse(...parameters)
  return read.ok ? undefined : read.fault.pointer
}
const names = Object.keys(FILTER_FIELDS) as FieldName[]
const fieldOf = (name: FieldName): Field => FILTER_FIELDS[name]

describe('a filter', () => {
  test('with an operator of its field is a condition, and with any other is refused at its field', () => {
    for (const name of names) {
      for (const operator of OPERATORS) {
        const parameter = [`filter[${name}][${operator}]`, fieldOf(name).example] as const
        const isAllowed = fieldOf(name).operators.includes(operator)

        expect(pointerOf(parameter)).toBe(isAllowed ? undefined : `/filter/${name}`)
        if (isAllowed) expect(conditionsOf(parameter)).toMatchObject([{ field: name, operator }])
      }
    }
  })

  test('may repeat; each is kept', () => {
    expect(conditionsOf(['filter[owner][ne]', 'a'], ['filter[owner][ne]', 'b'], ['filter[cost_usd][gt]', '1'])).toEqual(
      [
        { field: 'owner', operator: 'ne', values: ['a'] },
        { field: 'owner', operator: 'ne', values: ['b'] },
        { field: 'cost_usd', operator: 'gt', values: ['1'] },
      ],
    )
  })

  test('of any name is a condition or a fault with a pointer, and never throws', () => {
    const word = fc.oneof(
      fc.constantFrom(...names, ...OPERATORS, '__proto__', 'constructor', 'toString', 'hasOwnProperty', '', ']['),
      fc.string({ unit: 'binary' }),
    )
    const name = fc.oneof(
      fc.tuple(word, word).map(([field, operator]) => `filter[${field}][${operator}]`),
      word.map((field) => `filter[${field}]`),
      fc.string({ unit: 'binary' }).map((rest) => `filter[${rest}`),
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom("' OR 1=1 --", '1e3', '-1', '0x1', 'NaN', '＋1'),
    )
    fc.assert(
      fc.property(name, value, (one, text) => {
        const read = parse([one, text])

        if (read.ok) expect(read.value).toHaveLength(1)
        else {
          expect(read.fault.pointer).toMatch(/^\/filter(\/[a-z0-9_]+){0,2}$/)
          // Nothing of what was sent comes back but what is known to us.
          if (text.length > 8 && !/^[a-z_ ]*$/.test(text)) expect(read.fault.detail).not.toContain(text)
        }
      }),
      { numRuns: drawn(3_000) },
    )
  })

  test.each([
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'tenant_id',
    'identity_hash',
    'cost_usd;--',
    'cost_usd ',
    'Cost_usd',
    '',
  ])('of the field "%s" is refused', (field) => {
    expect(pointerOf([`filter[${field}][eq]`, '1'])).toBe('/filter')
  })

  test.each(['__proto__', 'constructor', '', 'EQ', 'like', 'eq ', 'eq]['])(
    'with the operator "%s" is refused',
    (operator) => {
      expect(pointerOf([`filter[cost_usd][${operator}]`, '1'])).toMatch(/^\/filter(\/cost_usd)?$/)
    },
  )

  test.each([
    'filter',
    'filter[]',
    'filter[cost_usd]',
    'filter[cost_usd][gt',
    'filter[cost_usd][gt]x',
    'filter[cost_usd][gt][eq]',
  ])('written "%s" is refused', (name) => {
    expect(pointerOf([name, '1'])).toBe('/filter')
  })

  test(`may repeat ${FILTERS_MAX} times at most`, () => {
    const some = (count: number) => Array.from({ length: count }, () => ['filter[owner][ne]', 'x'] as const)

    expect(conditionsOf(...some(FILTERS_MAX))).toHaveLength(FILTERS_MAX)
    expect(pointerOf(...some(FILTERS_MAX + 1))).toBe('/filter')
  })
})

describe('the value of a filter', () => {
  test('of an amount is exact, whatever its zeros', () => {
    const digits = (max: number) => fc.stringMatching(new RegExp(`^\\d{1,${max}}$`))
    fc.assert(
      fc.property(digits(20), fc.option(digits(18)), (whole, fraction) => {
        const text = fraction === null ? whole : `${whole}.${fraction}`
        const [{ values: [value = ''] = [] } = {}] = conditionsOf(['filter[cost_usd][eq]', text])
        const [wholeBack = '', fractionBack = ''] = value.split('.')

        expect(BigInt(wholeBack)).toBe(BigInt(whole))
        expect(fractionBack.padEnd(18, '0')).toBe((fraction ?? '').padEnd(18, '0'))
      }),
    )
  })

  test.each<[FieldName, readonly string[]]>([
    [
      'cost_usd',
      ['', '-1', '+1', '1e3', '.5', '5.', '1,0', '0x1', 'NaN', '1'.repeat(21), '0.0000000000000000001', ' 1'],
    ],
    ['confidence', ['0.8%', 'high', '']],
    [
      'event_time',
      [
        '',
        'yesterday',
        '2026-11-21',
        '2026-11-21T09:30:00',
        '2026-02-30T00:00:00Z',
        '2026-11-21T09:30:00.0001Z',
        '1763717400',
      ],
    ],
    ['id', ['', 'attr_', 'inv_7v3k9q2m4x8n5c1r6t0w3y9zb0', 'attr_7v3k9q2m4x8n5c1r6t0w3y9zbz', 'attr_x', '7v3k']],
    ['invocation_id', ['attr_7v3k9q2m4x8n5c1r6t0w3y9zb0']],
    ['stage_origin', ['', 'stage_d', 'STAGE_A', 'stage_a ']],
    ['owner', ['', 'a\u0000b', 'a\nb', 'x'.repeat(257), '\ud800']],
  ])('of %s is refused where it is none: %j', (field, texts) => {
    for (const text of texts)
      expect([text, pointerOf([`filter[${field}][eq]`, text])]).toEqual([text, `/filter/${field}/eq`])
  })

  test('of a text is kept unchanged', () => {
    for (const text of ["'; DROP TABLE attributions; --", '{p0:String}', '%', '\\', 'ünï😀', '<b>', '$1', "it''s"]) {
      expect(conditionsOf(['filter[owner][eq]', text])).toMatchObject([{ values: [text] }])
    }
  })

  test('that is contained need be no whole value', () => {
    expect(conditionsOf(['filter[evidence_basis][contains]', 'resol'])).toMatchObject([{ values: ['resol'] }])
    expect(pointerOf(['filter[evidence_basis][eq]', 'resol'])).toBe('/filter/evidence_basis/eq')
  })

  test('that is an id is compared by its bytes, the same for record and invocation', () => {
    const id = '7v3k9q2m4x8n5c1r6t0w3y9zb0'
    const [one, other] = conditionsOf(['filter[id][gte]', `attr_${id}`], ['filter[invocation_id][gte]', `inv_${id}`])

    expect(one?.values).toEqual(other?.values)
    expect(one?.values[0]).toMatch(/^[0-9a-f]{32}$/)
  })
})

describe('a list', () => {
  const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll(',', '\\,')

  test('of any texts, escaped and joined, comes apart as it was', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '\\', 'é', ' ') }), { minLength: 1 })
    fc.assert(
      fc.property(texts, (values) => {
        expect(splitList(values.map(escaped).join(','))).toEqual(values)
      }),
    )
  })

  test('keeps a backslash that escapes nothing', () => {
    expect(splitList('a\\b,c\\')).toEqual(['a\\b', 'c\\'])
    expect(splitList('a\\,b\\\\,c')).toEqual(['a,b\\', 'c'])
  })

  test('holds each value once', () => {
    expect(conditionsOf(['filter[cost_usd][in]', '1,1.0,2,01'])).toMatchObject([{ values: ['1', '2'] }])
  })

  test(`has ${LIST_MAX} values at most`, () => {
    const list = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`).join(',')

    expect(conditionsOf(['filter[owner][in]', list(LIST_MAX)])[0]?.values).toHaveLength(LIST_MAX)
    expect(pointerOf(['filter[owner][in]', list(LIST_MAX + 1)])).toBe('/filter/owner/in')
    expect(pointerOf(['filter[owner][in]', ','.repeat(1_000_000)])).toBe('/filter/owner/in')
  })

  test.each(['', ',', 'a,', ',a', 'a,,b'])('with an empty value is refused: "%s"', (text) => {
    expect(pointerOf(['filter[owner][in]', text])).toBe('/filter/owner/in')
  })
})

describe('a sort', () => {
  test('is one of the allowed fields in either direction', () => {
    for (const field of SORT_FIELDS) {
      for (const isDescending of [true, false]) {
        const sort = { field, isDescending }

        expect(parseSort(formatSort(sort))).toEqual({ ok: true, value: sort })
      }
    }
    expect(parseSort(undefined)).toEqual({ ok: true, value: { field: 'event_time', isDescending: true } })
  })

  test.each([
    '',
    '-',
    '--cost_usd',
    '+cost_usd',
    'cost_usd,owner',
    'id',
    'trace_id',
    '__proto__',
    'constructor',
    'cost_usd DESC',
  ])('"%s" is refused', (text) => {
    expect(parseSort(text)).toMatchObject({ ok: false, fault: { pointer: '/sort' } })
  })
})

describe('the digest', () => {
  const condition: fc.Arbitrary<Condition> = fc.record({
    field: fc.constantFrom(...names),
    operator: fc.constantFrom(...OPERATORS),
    values: fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }),
  })

  test('does not know the order of filters and of lists, nor repetition', () => {
    fc.assert(
      fc.property(fc.array(condition, { maxLength: 5 }), (conditions) => {
        const turned = conditions.map((one) => ({ ...one, values: one.values.toReversed() })).reverse()

        expect(digestOf([...turned, ...conditions])).toBe(digestOf(conditions))
      }),
    )
  })

  test('differs for another question', () => {
    const base = conditionsOf(['filter[owner][eq]', 'a'])
    const others: (readonly Condition[])[] = [
      [],
      conditionsOf(['filter[owner][ne]', 'a']),
      conditionsOf(['filter[service][eq]', 'a']),
      conditionsOf(['filter[owner][eq]', 'b']),
      conditionsOf(['filter[owner][in]', 'a,b']),
      conditionsOf(['filter[owner][eq]', 'a'], ['filter[owner][eq]', 'b']),
    ]

    expect(new Set([base, ...others].map(digestOf)).size).toBe(others.length + 1)
  })
})

test('an unknown field is named as the fault, and what has no form of a filter as that', () => {
  const detailOf = (name: string): string => {
    const read = parseFilters([[name, 'x']])
    return read.ok ? '' : read.fault.detail
  }

  expect(detailOf('filter[colour][eq]')).toMatch(/^This field cannot be filtered by\. Fields: id, /)
  expect(detailOf('filter[colour]')).toMatch(/^A filter must have the form /)
})
