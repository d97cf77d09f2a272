import childProcess from 'node:child_process'
import { afterEach, expect, test, vi } from 'vitest'
import { sendFromChild } from '../../../internal/sdk/send-from-child.js'

const { execPath } = process
afterEach(() => {
  process.execPath = execPath
  vi.restoreAllMocks()
})

test.each([
  ['/usr/bin/node', true],
  ['/usr/bin/node22', true],
  ['C:\\Program Files\\nodejs\\node.exe', true],
  ['/opt/shop/shop', false],
  ['/opt/shop/node-shop', false],
  ['/usr/local/bin/bun', false],
])('a program that is not Node would start once more: %s', (path, isStarted) => {
  const spawn = vi.spyOn(childProcess, 'spawnSync').mockReturnValue({ status: 0 } as never)
  process.execPath = path

  expect(sendFromChild({ url: 'http://service.test', headers: {} }, ['{}'], 1_000)).toBe(isStarted)
  expect(spawn).toHaveBeenCalledTimes(isStarted ? 1 : 0)
})
