import { expect, test } from 'vitest'
import { type Change, twoChanges } from '../../../../../internal/console/app/parts/two-changes.js'

/** As the directory: a name is there once. */
function directory() {
  const names: string[] = []
  const make = async <T>(_method: string, _path: string, body?: object): Promise<T> => {
    const { name } = body as { name: string }
    if (names.includes(name)) throw new Error('It exists already.')
    names.push(name)
    return { id: `id of ${name}` } as T
  }
  return { names, make }
}
const add = (name: string): Change => ['POST', '/identities', { name }]
const refused = async (): Promise<never> => {
  throw new Error('The date is after the end.')
}
const followedBy = async ({ id }: { readonly id: string }): Promise<string> => id

test('where the second change was refused, the first is not made again with it', async () => {
  const { names, make } = directory()
  const changes = twoChanges(make)
  await expect(changes(add('ann'), refused)).rejects.toThrow('The date is after the end.')

  expect(await changes(add('ann'), followedBy)).toBe('id of ann')
  expect(names).toEqual(['ann'])
})

test('another first change is made, and one that was refused is made again', async () => {
  const { names, make } = directory()
  const changes = twoChanges(make)
  await expect(changes(add('ann'), refused)).rejects.toThrow()

  expect(await changes(add('bob'), followedBy)).toBe('id of bob')
  await expect(changes(add('ann'), followedBy)).rejects.toThrow('It exists already.')
  names.length = 0
  expect(await changes(add('ann'), followedBy)).toBe('id of ann')
})

test('once both are made, the same again is another change', async () => {
  const { names, make } = directory()
  const changes = twoChanges(make)
  await changes(add('ann'), followedBy)

  await expect(changes(add('ann'), followedBy)).rejects.toThrow('It exists already.')
  expect(names).toEqual(['ann'])
})
