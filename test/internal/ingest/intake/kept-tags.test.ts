import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SourceEvent } from '../../../../internal/ingest/intake/intake-route.js'
import { keepDeclaredTags } from '../../../../internal/ingest/intake/kept-tags.js'
import { foldKey } from '../../../../internal/records/dimensions.js'

const kept = (tags: Record<string, string> | undefined, declared: readonly string[]) => {
  const events = [{ place: 0, event: { event_id: 'one', tags } }] as unknown as SourceEvent[]
  keepDeclaredTags(events, new Set(declared.map(foldKey)))
  return events[0]?.event.tags
}

test('tags of a known meaning stay; the value of a free key only if the key is declared, in whatever case', () => {
  const known = { team: 'search', 'caller.user-agent': 'curl/8', environment: 'prod', session_id: 's-1' }
  const free = { 'caller.feature': 'chat', question: 'what is my salary', user_message: 'why', 'prompt:': 'x' }

  expect(kept({ ...known, ...free }, [])).toEqual(known)
  expect(kept({ ...known, ...free }, ['Caller.Feature'])).toEqual({ ...known, 'caller.feature': 'chat' })
  expect(kept(free, [])).toBeUndefined()
  expect(kept(undefined, ['feature'])).toBeUndefined()
})

test('no value of a key that nobody declared is left, whatever the key', () => {
  const pairs = fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.constant('CONTENT'), { maxKeys: 16 })
  fc.assert(
    fc.property(pairs, fc.array(fc.string(), { maxLength: 3 }), (tags, declared) => {
      const folded = new Set(declared.map(foldKey))
      const left = Object.keys(kept(tags, declared) ?? {})

      expect(left.filter((key) => !folded.has(foldKey(key)))).toEqual([])
      expect(left.sort()).toEqual(
        Object.keys(tags)
          .filter((key) => folded.has(foldKey(key)))
          .sort(),
      )
    }),
  )
})
