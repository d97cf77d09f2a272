import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { isConfirmed } from '../../../cmd/attribution/confirmed.js'

const answered = (text: string) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  stdin.end(text)
  return isConfirmed('Accept?', {}, { stdin, stderr: new PassThrough() })
}

test.each([
  ['y\n', true],
  [' YES \n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
  ['', false],
])('the answer %j is %s', async (text, isYes) => {
  expect(await answered(text)).toBe(isYes)
})

test('without a terminal only --yes confirms', async () => {
  const terminal = { stdin: new PassThrough(), stderr: new PassThrough() }

  expect(await isConfirmed('Accept?', { yes: true }, terminal)).toBe(true)
  await expect(isConfirmed('Accept?', {}, terminal)).rejects.toThrow('add --yes')
})
