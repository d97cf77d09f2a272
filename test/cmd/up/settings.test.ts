import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const mainOf = (role: string): string => fileURLToPath(new URL(`../../../dist/cmd/${role}/main.js`, import.meta.url))
/** The options that a role's help names. */
const optionsOf = (role: string): string[] =>
  [...execFileSync(process.execPath, [mainOf(role), '--help'], { encoding: 'utf8' }).matchAll(/^ {2}(--[\w-]+)/gm)].map(
    ([, flag = '']) => flag,
  )
/** What `up` decides by itself: it starts one of each, with all that they do. */
const OWN = ['--member-name', '--stages']

test('the role up accepts the options of every other role', () => {
  const known = [...optionsOf('up'), ...OWN]

  for (const role of ['gateway', 'attributor', 'courier', 'exporter', 'sentinel', 'trainer']) {
    expect(optionsOf(role).filter((option) => !known.includes(option))).toEqual([])
  }
})
