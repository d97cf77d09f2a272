import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newTenantOfProduct } from '../support/product.js'

/** What identity providers send, one exchange each (`scim-exchanges/`), played from end to end. */

interface Exchange {
  readonly client: string
  readonly source: string
  readonly steps: readonly Step[]
}

interface Step {
  /** Method and path below `/scim/v2`; `{name}` is the id of a resource that an earlier step has kept. */
  readonly send: string
  readonly body?: object
  readonly status: number
  readonly shows?: object
  /** Keeps the id of the answer's resource. */
  readonly keep?: string
}

const FOLDER = join(import.meta.dirname, 'scim-exchanges')
const EXCHANGES = readdirSync(FOLDER).map((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Exchange)

test.each(EXCHANGES)('$client synchronises people and groups', async ({ steps }) => {
  const { baseUrl, credentials } = await newTenantOfProduct()
  const kept = new Map<string, string>()
  const filled = <T>(one: T): T =>
    JSON.parse(JSON.stringify(one).replace(/\{(\w+)\}/g, (_, name: string) => kept.get(name) ?? `{${name}}`)) as T

  for (const step of steps) {
    const [method = '', path = ''] = filled(step.send).split(' ')
    const answer = await fetch(`${baseUrl}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${credentials.api_key}`,
        accept: 'application/scim+json',
        'content-type': 'application/scim+json; charset=utf-8',
      },
      ...(step.body !== undefined && { body: JSON.stringify(filled(step.body)) }),
    })
    const text = await answer.text()
    expect([step.send, answer.status, answer.status === step.status ? '' : text]).toEqual([step.send, step.status, ''])
    if (text !== '') expect(answer.headers.get('content-type')).toBe('application/scim+json')
    const shown = text === '' ? {} : JSON.parse(text)
    if (step.shows !== undefined) expect(shown).toMatchObject(filled(step.shows))
    if (step.keep !== undefined) kept.set(step.keep, shown.id)
  }
})
