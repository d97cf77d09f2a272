import { expect, test } from 'vitest'
import { consoleCookie } from '../../../../internal/access/oauth/console-cookie.js'

const ours = consoleCookie('https://attribution.example')

test('over https the cookie is this host’s alone, and no script and no other site has it', () => {
  expect(ours.write('cli_one', 'rt_1')).toBe(
    '__Host-attribution-cli_one=rt_1; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=604800',
  )
  expect(ours.remove('__Host-attribution-cli_one')).toMatch(/^__Host-attribution-cli_one=; .*Secure; Max-Age=0$/)
})

test('on one’s own machine, instances at different ports have different cookies', () => {
  const [one, other] = ['http://127.0.0.1:8080', 'http://127.0.0.1:8081'].map(consoleCookie)
  const header = one?.write('cli_one', 'rt_1').split(';')[0] ?? ''

  expect(header).toBe('attribution-8080-cli_one=rt_1')
  expect(one?.read(header, 'cli_one')).toBe('rt_1')
  expect(other?.read(header, 'cli_one')).toBeUndefined()
})

test('the session of a tenant is found among others, and not where two claim to be it', () => {
  const header = 'a=b; __Host-attribution-cli_one=rt_1; __Host-attribution-cli_two=rt_2'

  expect(ours.read(header, 'cli_two')).toBe('rt_2')
  expect(ours.read(header, 'cli_three')).toBeUndefined()
  expect(ours.read(`${header}; __Host-attribution-cli_two=rt_3`, 'cli_two')).toBeUndefined()
  expect(ours.all(header).map(({ token }) => token)).toEqual(['rt_1', 'rt_2'])
})
