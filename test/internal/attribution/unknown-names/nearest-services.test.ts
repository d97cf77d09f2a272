import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COMPARED_MAX, NearestNames } from '../../../../internal/attribution/unknown-names/nearest.js'
import { NearestServices, nearestOfEach } from '../../../../internal/attribution/unknown-names/nearest-services.js'
import { type ServiceEntry, WatchedDirectory } from '../../../../internal/directory/directory.js'
import { directoryKey } from '../../../../internal/directory/directory-key.js'

const service = (name: string, aliases: readonly string[] = []): ServiceEntry => ({ name, owner: 'team', aliases })

function put(directory: WatchedDirectory, tenantId: string, name: string, entry: ServiceEntry | undefined): void {
  directory.apply(directoryKey(tenantId, 'services', name), entry)
}

test('names follow the directory: services come, go and change their aliases, and tenants stay apart', async () => {
  const names = ['checkout', 'billing', 'search']
  const change = fc.record({
    tenantId: fc.constantFrom('tnt_a', 'tnt_b'),
    name: fc.constantFrom(...names),
    aliases: fc.option(fc.subarray(['kasse-front', 'rechnung-svc', 'suche-api']), { nil: undefined }),
    isAsked: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (changes) => {
      const directory = new WatchedDirectory()
      const followed = new NearestServices(directory)
      for (const { tenantId, name, aliases, isAsked } of changes) {
        put(directory, tenantId, name, aliases && service(name, aliases))
        if (!isAsked) continue
        const fresh = await new NearestServices(directory).of(tenantId)
        const known = await followed.of(tenantId)
        for (const sought of ['chekout', 'biling', 'serch', 'kase-front', 'rechnug-svc', 'suche_api']) {
          expect(known.of(sought)).toEqual(fresh.of(sought))
        }
      }
    }),
  )
})

test('a large directory is read in slices, once', async () => {
  const directory = new WatchedDirectory()
  for (let i = 0; i < 5_000; i++) put(directory, 'tnt_a', `service-${i}`, service(`service-${i}`, [`alias-${i}`]))
  const nearest = new NearestServices(directory)
  let turns = 0
  const count = (): void => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)

  const [one, other] = await Promise.all([nearest.of('tnt_a'), nearest.of('tnt_a')])
  // 10,000 names, 200 a turn.
  expect(turns).toBeGreaterThanOrEqual(50)
  turns = 0
  put(directory, 'tnt_a', 'service-7', undefined)
  const again = await nearest.of('tnt_a')
  clearImmediate(timer)

  expect(turns).toBeLessThan(10)
  expect([one, other, again.size]).toEqual([again, again, 9_998])
})

test('a service that changes while the directory is read leaves none of its old names', async () => {
  const directory = new WatchedDirectory()
  put(directory, 'tnt_a', 'first', service('first', ['kasse-front']))
  for (let i = 0; i < 10_000; i++) put(directory, 'tnt_a', `s${i}`, service(`s${i}`))
  const nearest = new NearestServices(directory)
  await nearest.of('tnt_a')

  const reading = nearest.of('tnt_a')
  // After the first turn, in which its entry is looked at.
  await new Promise(setImmediate)
  put(directory, 'tnt_a', 'first', service('first', ['rechnung-svc']))
  await reading

  const names = await nearest.of('tnt_a')
  expect([names.of('kase-front'), names.of('rechnug-svc')]).toEqual([[], ['first']])
})

test('however many ask for the nearest of many names at once, a turn of the event loop compares a few', async () => {
  const nearest = new NearestNames()
  const nameOf = (n: number): string => `payments-gateway-payments-gateway-${n.toString(36)}`
  for (let n = 0; n < 2_000; n++) nearest.add({ name: nameOf(n), service: nameOf(n) })
  const names = Array.from({ length: 50 }, (_, n) => nameOf(5_000 + n))
  let open = 4
  const ask = async (): Promise<unknown> => {
    const found = await nearestOfEach(nearest, names, new AbortController().signal)
    open--
    return found
  }
  const perTurn: number[] = []

  let before = nearest.compared
  const asked = Promise.all(Array.from({ length: open }, ask))
  while (open > 0) {
    await nextTurn()
    perTurn.push(nearest.compared - before)
    before = nearest.compared
  }

  expect(await asked).toEqual(Array.from({ length: 4 }, () => names.map((name) => nearest.of(name))))
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * COMPARED_MAX)
})
