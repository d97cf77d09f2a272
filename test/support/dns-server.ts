/** A real name server on loopback, over UDP (RFC 1035); the test decides each answer. */
import { createSocket } from 'node:dgram'
import { isIPv4 } from 'node:net'

export interface DnsServer {
  /** In the format of the resolver setting: `127.0.0.1:53535`. */
  readonly address: string
  /** Queried names with their type, in order: `hooks.example.com A`. */
  readonly asked: readonly string[]
  close(): void
}

/** Addresses of both kinds; `fails` for SERVFAIL, `silent` for no answer, undefined for NXDOMAIN. */
export type DnsAnswer = readonly string[] | 'fails' | 'silent' | undefined

const [A, AAAA] = [1, 28]

export function launchDnsServer(answerTo: (name: string) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = questionIn(query)
    asked.push(`${name} ${type === A ? 'A' : type === AAAA ? 'AAAA' : type}`)
    const answer = answerTo(name)
    if (answer === 'silent') return
    const wanted = Array.isArray(answer) ? answer.filter((ip: string) => isIPv4(ip) === (type === A)) : []
    const code = answer === undefined ? 3 : answer === 'fails' ? 2 : 0
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 | code, 2)
    head.writeUInt16BE(wanted.length, 6)
    head.writeUInt32BE(0, 8)
    const records = wanted.map((ip: string) => recordOf(type, ip))
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address)
  })
  return new Promise((resolve) => {
    socket.bind(0, '127.0.0.1', () =>
      resolve({ address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() }),
    )
  })
}

function questionIn(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString('latin1'))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The name as a pointer to the question, class IN, TTL 0. */
function recordOf(type: number, ip: string): Buffer {
  const data = isIPv4(ip) ? Buffer.from(ip.split('.').map(Number)) : ipv6Bytes(ip)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6Bytes(ip: string): Buffer {
  const [front = '', back] = ip.split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(front), groups(back ?? '')]
  const zeros = back === undefined ? 0 : 8 - before.length - after.length
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return Buffer.from(all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]))
}
