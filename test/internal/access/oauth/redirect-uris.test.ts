import { describe, expect, test } from 'vitest'
import {
  isPrivateUseUri,
  isRedirectUri,
  isRegistered,
  originOf,
} from '../../../../internal/access/oauth/redirect-uris.js'

describe('a redirect address may be registered', () => {
  test.each([
    'https://client.example/callback',
    'https://client.example/callback?tenant=a',
    'https://client.example:8443/',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:51004/callback',
    'http://[::1]/callback',
  ])('%s', (uri) => {
    expect(isRedirectUri(uri)).toBe(true)
  })
})

describe('a redirect address is refused at registration', () => {
  test.each([
    ['plain http', 'http://client.example/callback'],
    ['a name for loopback', 'http://localhost/callback'],
    ['another loopback address', 'http://127.0.0.2/callback'],
    ['another spelling of loopback', 'http://0x7f.1/callback'],
    ['a fragment', 'https://client.example/#x'],
    ['a user', 'https://user@client.example/'],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['a scheme of its own', 'com.example.app:/callback'],
    ['no scheme', '//client.example/callback'],
    ['no slashes', 'https:client.example'],
    ['backslashes', 'https:\\\\client.example'],
    ['a line break', 'https://client.example/\r\nSet-Cookie: a=b'],
    ['letters beyond ASCII', 'https://clíent.example/'],
    ['nothing', ''],
    ['too much', `https://client.example/${'x'.repeat(2_048)}`],
  ])('with %s', (_, uri) => {
    expect(isRedirectUri(uri)).toBe(false)
  })
})

describe('the address of a native app', () => {
  test.each([
    'com.example.app:/callback',
    'com.example.app:/',
    'com.example-co.app:/a?b=c',
    'org.x.1app:/oauth2redirect',
  ])('%s has a private-use scheme', (uri) => {
    expect(isPrivateUseUri(uri)).toBe(true)
    expect(isRegistered(uri, [uri])).toBe(true)
    expect(isRegistered(`${uri}x`, [uri])).toBe(false)
    expect(originOf(uri)).toBe(`${uri.split(':')[0]}:`)
  })

  test.each([
    ['a scheme without a domain', 'myapp:/callback'],
    ['a script', 'javascript:/alert(1)'],
    ['an authority', 'com.example.app://callback'],
    ['no path', 'com.example.app:'],
    ['capitals', 'com.Example.app:/callback'],
    ['a fragment', 'com.example.app:/callback#x'],
    ['a backslash', 'com.example.app:/\\evil.example'],
    ['a line break', 'com.example.app:/\r\nSet-Cookie: a=b'],
    ['letters beyond ASCII', 'com.exämple.app:/'],
    ['https', 'https://client.example/callback'],
    ['too much', `com.example.app:/${'x'.repeat(2_048)}`],
  ])('has no private-use scheme with %s', (_, uri) => {
    expect(isPrivateUseUri(uri)).toBe(false)
  })
})

describe('a presented redirect address', () => {
  const registered = ['https://client.example/callback', 'http://127.0.0.1/callback', 'http://[::1]:9/callback']

  test.each([
    'https://client.example/callback',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:65535/callback',
    'http://[::1]/callback',
    'http://[::1]:51004/callback',
  ])('%s matches a registered one', (uri) => {
    expect(isRegistered(uri, registered)).toBe(true)
  })

  test.each([
    'https://client.example/callback/',
    'https://client.example/callback?x=1',
    'https://client.example/Callback',
    'https://CLIENT.example/callback',
    'https://client.example:443/callback',
    'https://client.example/a/../callback',
    'https://client.example.attacker.example/callback',
    'http://client.example/callback',
    'http://127.0.0.1:51004/callback?x=1',
    'http://127.0.0.1:51004/other',
    'http://127.0.0.1:51004@attacker.example/callback',
    'http://127.0.0.1.attacker.example/callback',
    'https://127.0.0.1:51004/callback',
    'http://127.0.0.1:x/callback',
  ])('%s matches no registered one', (uri) => {
    expect(isRegistered(uri, registered)).toBe(false)
  })
})
