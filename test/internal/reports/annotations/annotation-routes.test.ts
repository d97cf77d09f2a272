import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import { openAnnotationRoutes } from '../../../../internal/reports/annotations/annotation-routes.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false

beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, (mutate, broker) =>
    openAnnotationRoutes({
      mutate,
      broker,
      onLost: (cause) => {
        if (!isOver) throw cause
      },
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(new Uint8Array(32)),
      clock: Date.now,
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'read:reporting' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const PATH = '/api/v1/annotations'
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`
const textsOf = async (query: string): Promise<string[]> =>
  (await ask('GET', `${PATH}?${query}`)).json.data.map(({ text }: { text: string }) => text)

test('a note is written with the time of now, changed and deleted, and the audit log has each change', async () => {
  const beforeMs = Date.now()
  const made = await ask('POST', PATH, { text: 'checkout 4.2', link: 'https://git.example.com/4.2' })

  expect(made).toMatchObject({ status: 201, json: { text: 'checkout 4.2', service: null } })
  expect(made.json.id).toMatch(/^ann_/)
  expect(Date.parse(made.json.at)).toBeGreaterThanOrEqual(beforeMs)

  const at = { at: '2026-11-21T10:30:00.5Z', link: null, service: 'checkout' }
  const changed = await ask('PATCH', `${PATH}/${made.json.id}`, at)
  expect(changed.json).toEqual({ ...made.json, ...at, at: '2026-11-21T10:30:00.500Z' })

  expect((await ask('DELETE', `${PATH}/${made.json.id}`)).status).toBe(204)
  expect(codeOf(await ask('GET', `${PATH}/${made.json.id}`))).toBe('404 NOT_FOUND')
  expect(gateway.audited.slice(0, 3).map(({ action }) => action)).toEqual([
    'annotation.create',
    'annotation.update',
    'annotation.delete',
  ])
})

test('notes of a range are listed newest first, with those of no service beside those of one', async () => {
  for (const [day, service] of [
    ['01', 'search'],
    ['02', null],
    ['03', 'checkout'],
    ['04', 'search'],
  ] as const) {
    await ask('POST', PATH, { at: `2026-10-${day}T12:00:00Z`, text: `note ${day}`, service })
  }

  expect(await textsOf('from=2026-10-02&to=2026-10-05')).toEqual(['note 04', 'note 03', 'note 02'])
  expect(await textsOf('from=2026-10-01&to=2026-10-04&service=search')).toEqual(['note 02', 'note 01'])
  expect(codeOf(await ask('GET', `${PATH}?from=yesterday`))).toBe('400 INVALID_FILTER')
})

test('a note is changed and deleted by who wrote it, and by administrators', async () => {
  const { json } = await ask('POST', PATH, { text: 'checkout 4.3' })
  const path = `${PATH}/${json.id}`
  const as = (key: string) => askAs(gateway.url, { 'x-api-key': key })
  const [reader, admin] = [as('read:reporting#key_other'), as('read:reporting,admin:config#usr_admin')]

  expect(codeOf(await reader('PATCH', path, { text: 'rewritten' }))).toBe('403 INSUFFICIENT_SCOPE')
  expect(codeOf(await reader('DELETE', path))).toBe('403 INSUFFICIENT_SCOPE')
  expect((await reader('GET', path)).json).toEqual(json)
  expect((await admin('PATCH', path, { text: 'checkout 4.3.1' })).json).toMatchObject({ created_by: json.created_by })
  expect((await admin('DELETE', path)).status).toBe(204)
})

test('a note is one line of text, and links to a page', async () => {
  expect(codeOf(await ask('POST', PATH, { text: 'two\nlines' }))).toBe('422 VALIDATION_FAILED')
  expect(codeOf(await ask('POST', PATH, { text: 'x', link: 'javascript:alert(1)' }))).toBe('422 VALIDATION_FAILED')
})
