import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatApiKey } from '../../../../internal/auth/api-keys.js'
import { INTAKE_SOURCES, intakeAddress, someKey } from '../../../../internal/console/figures/intake.js'

const SOME_KEY = someKey(false)
const DOCS = new URL('../../../../deploy/docs/', import.meta.url)
const guideOf = (guide: string): string => readFileSync(new URL(guide, DOCS), 'utf8')

test('the intake port has the host and the protocol of the API; 0 means that it is off', () => {
  expect(intakeAddress('https://attribution.example.com', 4318)).toBe('https://attribution.example.com:4318')
  expect(intakeAddress('http://127.0.0.1:8080', 8462)).toBe('http://127.0.0.1:8462')
  expect(intakeAddress('http://127.0.0.1:8080', 0)).toBeUndefined()
})

test.each(['production', 'sandbox'] as const)('a key that is still to be made begins as those of %s', (mode) => {
  const key = formatApiKey(mode, `key_${'0'.repeat(26)}`, new Uint8Array(32))

  expect(key.startsWith(someKey(mode === 'sandbox').replace('...', ''))).toBe(true)
})

describe.each(Object.entries(INTAKE_SOURCES))('the lines for %s', (_, { guide, intake, block }) => {
  test('have the address and the key', () => {
    const lines = block({ api: 'https://api.example.com:8443', intake: 'https://api.example.com:8462' }, 'ak_of_a_test')

    expect(lines).toContain('api.example.com')
    expect(lines).toContain(intake === 'api' ? '8443' : '8462')
    expect(lines).toContain('ak_of_a_test')
  })

  test('are those of its guide', () => {
    const sameKey = (text: string): string =>
      text
        // biome-ignore lint/suspicious/noTemplateCurlyInString: as a Collector reads its environment
        .replaceAll('${env:ATTRIBUTION_API_KEY}', SOME_KEY)
        .replaceAll('process.env.ATTRIBUTION_URL', "'http://127.0.0.1:8080'")
        .replaceAll('process.env.ATTRIBUTION_API_KEY', `'${SOME_KEY}'`)
        .replaceAll('ATTRIBUTION_URL', '"http://127.0.0.1:8080"')
        .replaceAll('ATTRIBUTION_API_KEY', `"${SOME_KEY}"`)
        .replaceAll('$API_KEY', SOME_KEY)
    const written = new Set(
      sameKey(guideOf(guide))
        .split('\n')
        .map((line) => line.trim()),
    )
    const lines = block({ api: 'http://127.0.0.1:8080', intake: 'http://127.0.0.1:4318' }, SOME_KEY).split('\n')

    expect(lines.map((line) => line.trim()).filter((line) => line !== '' && !written.has(line))).toEqual([])
  })
})

test('every client of the table of intakes has lines', () => {
  const [, table = ''] = guideOf('intake/README.md').split('| you run')
  const pages = new Set([...(table.split('\n\n')[0]?.matchAll(/\(([\w-]+\.md)\)/g) ?? [])].map(([, page]) => page))
  const guides = new Set<string>(Object.values(INTAKE_SOURCES).map(({ guide }) => guide))
  // Code of one's own has our libraries.
  pages.delete('native-event.md')

  expect(pages.size).toBeGreaterThan(10)
  expect([...pages].filter((page) => !guides.has(`intake/${page}`))).toEqual([])
})
