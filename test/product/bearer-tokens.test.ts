import fc from 'fast-check'
import * as client from 'openid-client'
import { Agent, fetch as fetchFrom } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../support/fuzz.js'
import { discover } from '../support/oauth-client.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

const RECORDS = '/v1/attribution'

let service: Instance

beforeAll(async () => {
  service = await newTenantOfProduct()
})

describe('two credentials at once', () => {
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(service.baseUrl + RECORDS, { headers })).status

  test('two credentials at once are accepted when both are valid and agree, else refused', async () => {
    const config = await discover(service)
    const same = (await client.clientCredentialsGrant(config)).access_token
    const narrower = (await client.clientCredentialsGrant(config, { scope: 'read:attribution' })).access_token
    const apiKey = service.credentials.api_key

    expect(await statusOf({ authorization: `Bearer ${same}`, 'x-api-key': apiKey })).toBe(200)
    expect(await statusOf({ authorization: `Bearer ${narrower}`, 'x-api-key': apiKey })).toBe(401)
    expect(await statusOf({ authorization: `Bearer ${same}`, 'x-api-key': 'ak_live_wrong' })).toBe(401)
    expect(await statusOf({ authorization: 'Bearer wrong', 'x-api-key': apiKey })).toBe(401)
    expect(await statusOf({ 'x-api-key': `Bearer ${same}` })).toBe(401)
  })
})

/**
 * A value as the parser hands it on, without white space at both ends. Some builds of uWebSockets.js take bytes above 127
 * for white space, others and Node's parser do not.
 */
const PARSERS = [/^[ \t]+|[ \t]+$/g, /^[\s\x80-\xff]+|[\s\x80-\xff]+$/g].map(
  (space) =>
    (value: string): string =>
      value.replace(space, ''),
)

test(
  'fuzzed credentials are refused, without a 5xx or a dropped connection',
  async () => {
    const { access_token: token } = await client.clientCredentialsGrant(await discover(service))
    const { api_key: apiKey, client_id: id, client_secret: secret } = service.credentials
    const good: Record<string, string> = { authorization: `Bearer ${token}`, 'x-api-key': apiKey }
    const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    // Whatever a client of HTTP lets through: no control characters.
    const codes = fc.integer({ min: 32, max: 255 }).filter((code) => code !== 127)
    const texts = fc.string({ unit: codes.map((code) => String.fromCharCode(code)) })
    const changed = fc
      .tuple(fc.constantFrom(...Object.values(good), basic), fc.nat(), fc.nat(3), texts)
      .map(([text, at, cut, inserted]) => {
        const from = at % text.length
        return text.slice(0, from) + inserted + text.slice(from + cut)
      })
    const schemes = fc.tuple(fc.constantFrom('Bearer', 'bearer', 'Basic', 'DPoP', 'Token'), texts)
    const values = fc.oneof(
      changed,
      changed,
      texts,
      schemes.map(([scheme, text]) => `${scheme} ${text}`),
    )
    const headers = fc.record({ authorization: values, 'x-api-key': values }, { requiredKeys: [] })

    const cases = fc.sample(headers, FUZZ_CASES)
    const wrong: unknown[] = []
    // Failures are limited by address: few enough come from each that all are judged.
    let place = 0
    const from = (): Agent => new Agent({ localAddress: `127.1.${place >> 8}.${place++ & 255}` })
    const next = async (): Promise<void> => {
      let [agent, asked] = [from(), 0]
      for (let sent = cases.pop(); sent !== undefined; sent = cases.pop()) {
        if (++asked % 100 === 0) {
          await agent.close()
          agent = from()
        }
        const url = `${service.baseUrl}/api/v1/invocations/inv_x`
        const answer = await fetchFrom(url, { headers: sent, dispatcher: agent })
        const { error_code: code } = (await answer.json()) as { error_code: string }
        const expected = PARSERS.flatMap((asParsed) => {
          const given = Object.entries(sent).flatMap(([name, value]) => {
            const seen = asParsed(value)
            return seen === '' ? [] : [seen === good[name]]
          })
          const isGood = given.length > 0 && !given.includes(false)
          return isGood ? ['NOT_FOUND', 'RATE_LIMITED'] : ['INVALID_CREDENTIALS']
        })
        if (!expected.includes(code)) wrong.push({ sent, status: answer.status, code })
      }
      await agent.close()
    }
    await Promise.all(Array.from({ length: 16 }, next))

    expect(wrong).toEqual([])
  },
  FUZZ_MS_MAX,
)
