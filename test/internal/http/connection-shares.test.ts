import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConnectionShares } from '../../../internal/http/connection-shares.js'

class TestSocket extends EventEmitter {
  isOpen = true
  readonly remoteAddress: string
  readonly remotePort: number

  constructor(remoteAddress: string, remotePort: number) {
    super()
    this.remoteAddress = remoteAddress
    this.remotePort = remotePort
  }

  destroy(): void {
    this.isOpen = false
    this.emit('close')
  }
}

function listener(max: number) {
  const shares = new ConnectionShares(max)
  let port = 1
  const connect = (address: string): TestSocket => {
    const socket = new TestSocket(address, port++)
    shares.add(socket as unknown as Socket)
    return socket
  }
  return { shares, connect }
}

test('of the address with most connections, that goes which has been silent for longest', () => {
  const { shares, connect } = listener(4)
  const [first, second, third] = [connect('192.0.2.1'), connect('192.0.2.1'), connect('192.0.2.1')]
  const other = connect('192.0.2.2')
  shares.beginRequest(first as TestSocket)
  const next = connect('192.0.2.2')
  shares.endRequest(first as TestSocket)
  const last = connect('192.0.2.3')

  expect([first, second, third, other, next, last].map((socket) => socket?.isOpen)).toEqual([
    true,
    false,
    false,
    true,
    true,
    true,
  ])
})

test('a connection with a request stays; without a silent one, the newcomer goes', () => {
  const { shares, connect } = listener(2)
  const busy = [connect('192.0.2.1'), connect('::ffff:192.0.2.1')]
  for (const socket of busy) shares.beginRequest(socket)

  expect(connect('192.0.2.2').isOpen).toBe(false)
  shares.beginRequest(busy[0] as TestSocket)
  shares.endRequest(busy[0] as TestSocket)
  expect(connect('192.0.2.2').isOpen).toBe(false)
  shares.endRequest(busy[0] as TestSocket)
  expect(connect('192.0.2.2').isOpen).toBe(true)
  expect(busy.map(({ isOpen }) => isOpen)).toEqual([false, true])
})

test('never more than the limit are open, and an address with less than its part loses none to one with more', () => {
  const step = fc.record({
    address: fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'),
    ends: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { connect } = listener(8)
      const open: TestSocket[] = []
      const few = connect('198.51.100.1')
      for (const { address, ends } of steps) {
        open.push(connect(address))
        if (ends) open.find(({ isOpen }) => isOpen)?.destroy()
        expect(open.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(7)
        expect(few.isOpen).toBe(true)
      }
    }),
  )
})
