import { expect, test } from 'vitest'
import { listeningUrl } from '../../../internal/config/listening-url.js'

test.each([
  ['127.0.0.1', 8080, false, 'http://127.0.0.1:8080'],
  ['localhost', 8443, true, 'https://localhost:8443'],
  ['::1', 8080, false, 'http://[::1]:8080'],
  ['2001:db8::8', 443, true, 'https://[2001:db8::8]:443'],
])('a server that listens on host %s, port %i, TLS %s, has the URL %s', (host, port, isTls, url) => {
  expect(listeningUrl(host, port, isTls)).toBe(url)
  expect(URL.canParse(url)).toBe(true)
})
