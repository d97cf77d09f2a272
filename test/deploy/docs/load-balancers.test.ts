/** What `deploy/docs/load-balancers.md` says of idle connections, against what gateways do with them. */
import { expect, test } from 'vitest'
import { TIMEOUTS } from '../../../internal/http/node-settings.js'
import { textOf } from '../../support/docs.js'

const page = textOf('deploy/docs/load-balancers.md')

function seconds(pattern: RegExp): number {
  const found = pattern.exec(page)?.[1]
  if (found === undefined) throw new Error(`the page does not say ${pattern}`)
  return Number(found)
}

test.each([
  ['nginx', /^ {2}keepalive_timeout (\d+)s;/m],
  ['HAProxy', /^ {2}timeout http-keep-alive (\d+)s$/m],
  ['Envoy', /idle_timeout: (\d+)s/],
  ['ALB', /Load balancer: idle timeout (\d+) s/],
])('%s ends an idle connection before a gateway does', (_, pattern) => {
  expect(seconds(pattern) * 1_000).toBeLessThan(TIMEOUTS.keepAliveTimeout)
})

test('nginx, which asks for no health, keeps no connection for as long as a gateway drains', () => {
  expect(seconds(/^ {2}keepalive_timeout (\d+)s;/m)).toBeLessThan(seconds(/main\.js .*--drain-seconds (\d+)$/m))
})
