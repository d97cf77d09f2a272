import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { durabilityText } from '../../../../internal/local/supervisor/durability.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-durability-'))

test('the terminal says what a 202 survives, and what a sync costs on this disk', () => {
  const text = durabilityText({ durability: 'power', isPrivate: true, folder })

  expect(text).toMatch(
    /^a 202 survives the kill of every process, and a power cut: .* takes \d+(\.\d)? ms on this disk/,
  )
  expect(readdirSync(folder)).toEqual([])
})

test('without syncs, and with a broker or store of others, it promises no power cut', () => {
  expect(durabilityText({ durability: 'process', isPrivate: true, folder })).toContain('can lose the last two minutes')
  expect(durabilityText({ durability: 'power', isPrivate: false, folder })).toContain(
    'as your broker and store are set',
  )
})
