import { expect, test } from 'vitest'
import { type Client, checkIntake } from '../../../../internal/local/doctor/check-intake.js'
import type { Finding } from '../../../../internal/local/doctor/finding.js'

type Answers = Readonly<Record<string, { readonly status: number; readonly body?: unknown } | undefined>>

/** Answers by path; without one, nothing answers. */
const client = (answers: Answers): Client => {
  const answer = async (path: string) => {
    const found = answers[path.split('?')[0] ?? '']
    if (found === undefined) throw new Error('refused')
    return { status: found.status, body: JSON.stringify(found.body ?? {}) }
  }
  return { get: answer, post: answer }
}

const READY = { '/readyz': { status: 200 }, '/api/v1/rate-limit': { status: 200 } } as const
const ACCEPTED = { '/intake/cloudevents': { status: 200, body: { accepted: 1 } } } as const

async function failed(api: Answers, intake: Answers): Promise<Finding | undefined> {
  let last: Finding | undefined
  for await (const check of checkIntake(client(api), client(intake), 0)) last = check
  return last?.status === 'failure' ? last : undefined
}

test.each<[string, Answers, Answers, string]>([
  ['api', {}, {}, 'is the service running'],
  ['api', { '/readyz': { status: 503 } }, {}, '503'],
  ['credential', { ...READY, '/api/v1/rate-limit': { status: 401 } }, {}, 'the API answers 401'],
  ['intake', READY, {}, 'nothing answers on the intake port'],
  ['intake', READY, { '/intake/cloudevents': { status: 404 } }, 'that of the API'],
  [
    'intake',
    READY,
    {
      '/intake/cloudevents': {
        status: 200,
        body: { accepted: 0, rejections: [{ errors: [{ pointer: '/ingestion_layer', detail: 'is not allowed' }] }] },
      },
    },
    '/ingestion_layer is not allowed',
  ],
  ['record', { ...READY, '/v1/attribution': { status: 403 } }, ACCEPTED, 'read:attribution'],
  ['record', { ...READY, '/v1/attribution': { status: 200, body: { data: [] } } }, ACCEPTED, 'no record after'],
])('the first check that fails says what to do: %s', async (check, api, intake, detail) => {
  expect(await failed(api, intake)).toMatchObject({ check, detail: expect.stringContaining(detail) })
})
