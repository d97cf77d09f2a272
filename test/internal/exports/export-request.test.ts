import { describe, expect, test } from 'vitest'
import { exportBody, readRequest } from '../../../internal/exports/export-request.js'

const NOW_MS = Date.parse('2026-11-21T18:00:00Z')
const BODY = { format: 'focus', period: { from: '2026-10-01', to: '2026-10-31' } } as const

/** The locations of the errors in a body; empty when it is accepted. */
function errorsIn(body: unknown): string[] {
  const parsed = exportBody.safeParse(body)
  if (!parsed.success) return [...new Set(parsed.error.issues.map(({ path }) => `/${path.join('/')}`))]
  const read = readRequest(parsed.data, NOW_MS)
  return read.ok ? [] : read.errors.map(({ pointer }) => pointer)
}
const filtered = (filter: unknown) => ({ ...BODY, filters: [filter] })
const withPeriod = (from: unknown, to: unknown) => ({ ...BODY, period: { from, to } })
const requestOf = (body: Parameters<typeof readRequest>[0]) => {
  const read = readRequest(body, NOW_MS)
  if (!read.ok) throw new Error(JSON.stringify(read.errors))
  return read.request
}

describe('an invalid export request is rejected', () => {
  test.each([
    [{}, ['/format', '/period']],
    [{ ...BODY, format: 'csv' }, ['/format']],
    [{ ...BODY, format: 'FOCUS' }, ['/format']],
    [{ format: 'focus', period: { from: '2026-10-01' } }, ['/period/to']],
    [withPeriod('2026-10-31', '2026-10-01'), ['/period/from']],
    [withPeriod('2026-10-01T00:00:00Z', '2026-10-31'), ['/period/from']],
    [withPeriod('01.10.2026', '2026-10-31'), ['/period/from']],
    [withPeriod('2026-02-30', '2026-10-31'), ['/period/from']],
    [withPeriod('2026-13-01', '2026-13-02'), ['/period/from', '/period/to']],
    [withPeriod(20261001, '2026-10-31'), ['/period/from']],
    [withPeriod('2026-11-22', '2026-11-30'), ['/period/from']],
    [withPeriod('2025-10-01', '2026-10-02'), ['/period/to']],
    [withPeriod('1969-12-31', '1970-01-01'), ['/period/from']],
    [{ ...BODY, group_by: [] }, ['/group_by']],
    [{ ...BODY, group_by: ['team'] }, ['/group_by/0']],
    [{ ...BODY, group_by: ['owner', 'owner'] }, ['/group_by']],
    [{ ...BODY, group_by: 'owner' }, ['/group_by']],
    [{ ...BODY, file_format: 'xlsx' }, ['/file_format']],
    [{ ...BODY, focus_version: '1.3' }, ['/focus_version']],
    [{ ...BODY, columns: [] }, ['/columns']],
    [{ ...BODY, columns: ['BilledCost', 'BilledCost'] }, ['/columns']],
    [{ ...BODY, columns: ['InvoiceId'] }, ['/columns/0']],
    [{ ...BODY, columns: ['ProviderName'] }, ['/columns']],
    [{ ...BODY, columns: ['HostProviderName'], focus_version: '1.2' }, ['/columns']],
    [{ ...BODY, filter: [] }, ['/']],
    [{ ...BODY, filters: {} }, ['/filters']],
    [filtered({ field: 'servce', operator: 'eq', values: ['a'] }), ['/filters/0/field']],
    [filtered({ field: 'cost_usd', operator: 'gt', values: ['1'] }), ['/filters/0/field']],
    [filtered({ field: 'service', operator: 'like', values: ['a'] }), ['/filters/0/operator']],
    [filtered({ field: 'service', operator: 'gt', values: ['a'] }), ['/filters/0/operator']],
    [filtered({ field: 'service', operator: 'eq', value: 'a' }), ['/filters/0/values', '/filters/0']],
    [filtered({ field: 'service', operator: 'eq', values: [] }), ['/filters/0/values']],
    [filtered({ field: 'service', operator: 'eq', values: ['a', 'b'] }), ['/filters/0/values']],
    [filtered({ field: 'service', operator: 'eq', values: ['\u0000'] }), ['/filters/0/values/0']],
    [filtered({ field: 'stage_origin', operator: 'in', values: ['stage_a', 'stage_z'] }), ['/filters/0/values/1']],
  ])('%j with errors at %j', (body, pointers) => {
    expect(errorsIn(body)).toEqual(pointers)
  })
})

describe('an export request is accepted', () => {
  test.each([
    ['one day', withPeriod('2026-10-05', '2026-10-05')],
    ['today', withPeriod('2026-11-21', '2026-11-21')],
    ['an end after today', withPeriod('2026-11-01', '2026-11-30')],
    ['366 days', withPeriod('2025-10-01', '2026-10-01')],
    ['29 February of a leap year', withPeriod('2024-02-29', '2024-02-29')],
    ['null for optional fields', { ...BODY, group_by: null, file_format: null, focus_version: null, columns: null }],
    ['columns of the older version', { ...BODY, columns: ['ProviderName'], focus_version: '1.2' }],
  ])('%s', (_, body) => {
    expect(errorsIn(body)).toEqual([])
  })

  test('with only a period: CSV of FOCUS 1.4, all columns, by owner, service, provider and model', () => {
    const request = requestOf(BODY)

    expect(request).toMatchObject({
      group_by: ['owner', 'service', 'provider', 'served_model'],
      file_format: 'csv',
      focus_version: '1.4',
    })
    expect(request.columns.length).toBe(46)
  })

  test('in the order of its dimensions, always with the provider, and with the model if by meter', () => {
    expect(requestOf({ ...BODY, group_by: ['owner'] }).group_by).toEqual(['owner', 'provider'])
    expect(requestOf({ ...BODY, group_by: ['service', 'provider', 'owner'] }).group_by).toEqual([
      'service',
      'provider',
      'owner',
    ])
    expect(requestOf({ ...BODY, group_by: ['meter'] }).group_by).toEqual(['meter', 'served_model', 'provider'])
  })
})
