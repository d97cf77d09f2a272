import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { machineSources, parseLines, parseStanzas } from '../../../deploy/setup/apt-sources.mjs'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

test('a deb822 stanza gives one apt source per package address', () => {
  const sources = parseStanzas(`# made by the installer
Types: deb deb-src
# http://archive.example/mirror/20250520T000000Z
URIs: http://one.example/mirror http://two.example/mirror
Suites: bookworm bookworm-updates
Components: main
Signed-By: ${KEYRING}

Types: deb
URIs: http://one.example/mirror-security
Suites: bookworm-security
Components: main
`)

  expect(sources).toEqual([
    { uri: 'http://one.example/mirror', suites: ['bookworm', 'bookworm-updates'], signedBy: KEYRING },
    { uri: 'http://two.example/mirror', suites: ['bookworm', 'bookworm-updates'], signedBy: KEYRING },
    { uri: 'http://one.example/mirror-security', suites: ['bookworm-security'], signedBy: undefined },
  ])
})

test('a deb822 stanza that is disabled, or for sources only, gives no apt source', () => {
  const sources = parseStanzas(`Enabled: no
Types: deb
URIs: http://one.example/mirror
Suites: bookworm

Types: deb-src
URIs: http://two.example/mirror
Suites: bookworm`)

  expect(sources).toEqual([])
})

test('an inline key of a deb822 stanza keeps its lines', () => {
  const [source] = parseStanzas(`Types: deb
URIs: http://one.example/mirror
Suites: bookworm
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS
 -----END PGP PUBLIC KEY BLOCK-----`)

  expect(source?.signedBy).toBe(
    '\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n ' +
      'mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS\n -----END PGP PUBLIC KEY BLOCK-----',
  )
})

test('a one-line apt source gives its address, suite and keys', () => {
  const [one, two] = ['http://one.example/mirror', 'http://two.example/mirror']
  const sources = parseLines(`# deb http://off.example/mirror bookworm main
deb ${one} bookworm main contrib
deb [arch=amd64 signed-by=${KEYRING}] ${two} bookworm-updates main # late
deb-src ${one} bookworm main
`)

  expect(sources).toEqual([
    { uri: one, suites: ['bookworm'], signedBy: undefined },
    { uri: two, suites: ['bookworm-updates'], signedBy: KEYRING },
  ])
})

test('a machine has the apt sources of all files that apt reads, and of no others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'apt-'))
  await mkdir(join(folder, 'sources.list.d'))
  await writeFile(join(folder, 'sources.list'), 'deb http://one.example/mirror bookworm main\n')
  await writeFile(join(folder, 'sources.list.d', 'two.sources'), 'Types: deb\nURIs: http://two.example\nSuites: sid\n')
  await writeFile(join(folder, 'sources.list.d', 'three.list'), 'deb http://three.example/mirror sid main\n')
  await writeFile(join(folder, 'sources.list.d', 'four.list.disabled'), 'deb http://four.example/mirror sid main\n')

  const sources = machineSources(folder)

  expect(sources.map(({ uri }) => uri)).toEqual([
    'http://one.example/mirror',
    'http://three.example/mirror',
    'http://two.example',
  ])
  await rm(folder, { recursive: true })
})

test('a machine without apt has no sources', () => {
  expect(machineSources('/nonexistent')).toEqual([])
})
