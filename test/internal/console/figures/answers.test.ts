import { expect, test } from 'vitest'
import { answerWords } from '../../../../internal/console/figures/answers.js'

const SEARCH = { name: 'search', owner: 'team-a' }
const service = (before: object | null, after: object | null) =>
  answerWords({ what: 'service', name: 'search', before: before as never, after: after as never })

test.each([
  [null, SEARCH, 'search is a service of team-a'],
  [SEARCH, { ...SEARCH, owner: 'team-b' }, 'search goes from team-a to team-b'],
  [SEARCH, { ...SEARCH, aliases: ['serch'] }, 'serch is another name of search'],
  [{ ...SEARCH, aliases: ['serch'] }, SEARCH, 'serch is no other name of search any more'],
  [SEARCH, SEARCH, 'search is of team-a'],
  [SEARCH, null, 'search is no service of the directory any more'],
])('a service that was %j and is %j', (before, after, words) => {
  expect(service(before, after)).toBe(words)
})

test.each([
  ['principal', 'key_1', null, { service: 'chat' }, 'The credential key_1 is of chat'],
  ['pool', 'shared', null, { owner: 'team-p' }, 'The pool shared of team-p takes calls'],
  ['pool', 'shared', { owner: 'team-p' }, null, 'The pool shared is gone'],
  ['mapping_rule', 'claude-code', null, { rule: 'mrl_1' }, 'The rule claude-code, applied to the past'],
  ['calls', null, null, { service: 'chat', owner: 'team-c' }, 'Calls given to chat of team-c'],
  ['call', null, { service: 'unallocated' }, { service: 'chat', owner: 'team-c' }, 'One call given to chat of team-c'],
  ['name', 'chekout', {}, { name: 'checkout' }, 'chekout is another name of checkout'],
  ['prices', null, null, null, 'Calls without a price, priced'],
  ['period', null, null, null, 'All calls of a time, attributed again'],
])('%s %s', (what, name, before, after, words) => {
  expect(answerWords({ what, name, before, after })).toBe(words)
})
