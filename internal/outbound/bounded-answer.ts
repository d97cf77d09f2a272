import { addAbortSignal, type Readable } from 'node:stream'

/** How much of an answer from outside is read, and for how long. Both count from the first byte of the body. */
export interface AnswerLimits {
  readonly bytesMax: number
  readonly msMax: number
}

/** The sender had more to say than anybody here wants to read. */
export class AnswerTooLong extends Error {
  constructor(bytesMax: number) {
    super(`the answer is longer than ${bytesMax} bytes`)
  }
}

/**
 * Reads the body of an answer from outside. Libraries read one to its end: hundreds of megabytes, or a
 * byte a minute.
 *
 * @throws AnswerTooLong; or a TimeoutError. In both cases the connection is closed.
 */
export async function readAnswer(body: Readable, { bytesMax, msMax }: AnswerLimits): Promise<Buffer> {
  // AbortSignal.timeout would keep the stream until it fires.
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new DOMException('the answer takes too long', 'TimeoutError')), msMax)
  try {
    return await readAtMost(addAbortSignal(late.signal, body), bytesMax)
  } finally {
    clearTimeout(timer)
  }
}

/** `fetch`, for addresses outside: the answer is read whole within these limits, the time counting from the call. */
export const boundedFetch =
  ({ bytesMax, msMax }: AnswerLimits): typeof fetch =>
  async (input, init) => {
    const late = AbortSignal.timeout(msMax)
    const signal = init?.signal == null ? late : AbortSignal.any([init.signal, late])
    const answer = await fetch(input, { ...init, signal })
    // A status without a body must stay without one.
    const body = answer.body === null ? null : await readAtMost(answer.body, bytesMax)
    return new Response(body, answer)
  }

async function readAtMost(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    // Leaving the loop closes the connection.
    if (bytes > bytesMax) throw new AnswerTooLong(bytesMax)
    parts.push(part)
  }
  return Buffer.concat(parts, bytes)
}
