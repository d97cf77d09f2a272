/** Requests byte for byte, for requests that no HTTP client would send. */
import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/**
 * Sends bytes on a fresh connection and reads until the server closes it.
 *
 * @param isEnded whether the client says that nothing more comes
 * @returns every reply, in order; empty when the server closed without a reply
 */
export const rawExchange = async (port: number, bytes: string | Buffer, isEnded = false): Promise<RawAnswer[]> =>
  parseAnswers(await rawText(port, bytes, isEnded))

/** Everything that the server sends until it closes the connection. */
export function rawText(port: number, bytes: string | Buffer, isEnded = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ECONNRESET' && cause.code !== 'EPIPE') reject(cause)
    })
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    if (isEnded) socket.end(bytes)
    else socket.write(bytes)
  })
}

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`not an HTTP response: ${rest}`)
    const head = rest.slice(0, end)
    // The parser's own answers have no length: they end with the connection.
    const unsaid = /^connection: close$/im.test(head) ? rest.length : 0
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? unsaid)
    answers.push({ status: Number(head.slice(9, 12)), head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

/** A request with exactly these header lines; nothing is added. */
export const rawRequest = (line: string, headers: readonly string[], body = ''): string =>
  `${line} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n${body}`
