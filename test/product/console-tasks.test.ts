import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  ask,
  beginTask,
  callsOf,
  console,
  fewSteps,
  hand,
  openPage,
  openTasks,
  page,
} from '../support/console-tasks.js'

/** The two tasks that lead through most of the console: from a figure to its proof, and to a change of what it says. */

beforeAll(() =>
  openTasks([
    ...callsOf(7, 9, { attributed_service: 'search' }),
    ...callsOf(7, 2, { attributed_service: 'search', input_tokens: 9_000 }),
    ...callsOf(7, 1, { attributed_service: 'new-thing', requested_model: 'gpt-4o-mini' }),
  ]),
)
beforeEach(beginTask)

describe('a lead of FinOps', () => {
  test('finds why the cost rose in a week, down to a call that proves it', async () => {
    await hand.choose('.period select', '7d')
    const row = 'section.changes tr:has-text("search"):has-text("gpt-4o")'
    await page.waitForSelector(`${row}:has-text("+")`)
    await hand.click(`${row} a:text-is("calls")`)
    await page.waitForSelector('section[aria-label=Calls] tbody tr')
    await hand.click('section[aria-label=Calls] button.opens >> nth=0')

    await expect.poll(() => page.textContent('.card .sum')).toContain('9,000 input')
    fewSteps()
  })
})

describe('an engineer of the platform', () => {
  test('gives an unknown name to a team, and it stays away', async () => {
    await openPage('Unattributed')
    await hand.click('.queue button.opens:has-text("new-thing")')
    await hand.fill('.chosen input[name=owner]', 'team-new')
    await hand.click('.chosen button:has-text("Add the service")')

    const owned = async () =>
      (await ask('GET', '/v1/attribution?filter[service][eq]=new-thing')).json.data.map(
        ({ owner }: { owner: string | null }) => owner,
      )
    await expect.poll(owned, { timeout: 60_000 }).toEqual(Array.from({ length: 7 }, () => 'team-new'))
    fewSteps()
  })
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
