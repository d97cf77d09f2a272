import { expect, test } from 'vitest'
import {
  flagIn,
  idsIn,
  isUnassigned,
  SCIM_ERRORS,
  taken,
  textIn,
} from '../../../../internal/directory/scim/scim-messages.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'
import { renderProblem } from '../../../../internal/problems/render.js'

const rendered = (what: ReturnType<typeof problem>) =>
  renderProblem(what, { instance: '/scim/v2/x', traceId: '', tenantId: null, errorDocsUrl: '' }, SCIM_ERRORS)

test('an error has the members of RFC 7644 and no others', () => {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  const { status, headers, body } = rendered(taken('Taken.'))
  expect(status).toBe('409 Conflict')
  expect(headers).toContainEqual(['Content-Type', 'application/scim+json'])
  expect(JSON.parse(body)).toEqual({ schemas, status: '409', scimType: 'uniqueness', detail: 'Taken.' })
  expect(JSON.parse(rendered(problem('NOT_FOUND', 'No.')).body)).toEqual({ schemas, status: '404', detail: 'No.' })
})

test('members are lists of values, in whatever case', () => {
  expect(idsIn([{ value: 'a' }, { Value: 'b', $ref: 'x' }, 'c'])).toEqual(['a', 'b', 'c'])
  expect(idsIn({ value: 'a' })).toEqual(['a'])
  for (const none of [undefined, null, [], '']) expect(idsIn(none)).toEqual([])
  for (const wrong of [[{ display: 'd' }], [7], 7]) expect(idsIn(wrong)).toBeUndefined()
})

test('values of one may be texts, lists of one, and objects with a value', () => {
  const flags = [true, 'True', ' false', ['FALSE'], [{ value: 'True' }], { Value: false }, 'yes', 1, []]
  expect(flags.map(flagIn)).toEqual([true, true, false, false, true, false, undefined, undefined, undefined])
  expect([['x'], { value: 'y' }, [{ $ref: null, value: 'z' }], 'a\n', '', 7].map(textIn)).toEqual([
    ...['x', 'y', 'z'],
    ...[undefined, undefined, undefined],
  ])
  expect([undefined, null, '', [], [{ value: null }], false, 'x'].map(isUnassigned)).toEqual([
    ...[true, true, true, true, true],
    ...[false, false],
  ])
})
