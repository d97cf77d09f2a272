import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, litellm, mapped, pricesCommand } from '../support/proposed-books.js'
import { launchService, type RunningService } from '../support/service.js'

/** Price books that are not taken, and one that an npm package carries. */

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '1000'] })
})
afterAll(() => service.stop())

const run = pricesCommand(() => service)

test('a proposal from another book than the one in force is refused, and so is a file of another form', async () => {
  const stale = (await run('propose', '--litellm', litellm({ 'gpt-4o': mapped(2e-6, 1e-5) }), '--json')).json().proposal
  const next = (await run('propose', '--litellm', litellm({ 'gpt-4o': mapped(2.1e-6, 1e-5) }), '--json')).json()
    .proposal
  expect((await run('accept', next, '--yes')).code).toBe(0)

  const refused = await run('accept', stale, '--yes')
  expect(refused.code).toBe(1)
  expect(refused.text).toContain('propose it again')

  const earlier = await run('propose', '--effective-from', '2026-01-01', '--litellm', litellm({}))
  expect([earlier.code, earlier.text]).toEqual([1, expect.stringContaining('--effective-from of that day')])

  const broken = join(folder, 'broken.json')
  writeFileSync(broken, '{"models": 1')
  expect((await run('propose', '--genai-prices', broken)).text).toContain('is not such a price book')
  expect((await run('propose')).text).toContain('name a price book')
})

test('the installed npm package is read without executing it', async () => {
  const { code, json } = await run('propose', '--genai-prices', 'node_modules/@pydantic/genai-prices', '--json')

  expect(code).toBe(0)
  expect(json().sources).toMatchObject([{ name: 'genai-prices' }])
  expect(json().sources[0].rows).toBeGreaterThan(500)
  expect(readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8')).toContain('genai-prices')
})
