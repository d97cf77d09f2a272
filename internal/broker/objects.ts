import type { ObjectStore } from '@nats-io/obj'
import { whenOverdue } from './deadline.js'

/** The result of reading an object. */
export type ReadObject =
  | { readonly kind: 'object'; readonly bytes: Uint8Array }
  /** No object has that name. */
  | { readonly kind: 'missing' }
  /** Its bytes are not the ones that were written. */
  | { readonly kind: 'corrupt' }
  /** The broker did not deliver it in time; a part of it may be lost. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/** Reads an object whole. Never throws. */
export async function readObject(store: ObjectStore, name: string, timeoutMs: number): Promise<ReadObject> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = whenOverdue(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)))
  })
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let isReading = false
  try {
    const found = await Promise.race([store.get(name), timeout])
    if (found === null) return { kind: 'missing' }
    // The stream reports the same error; unhandled, this rejection would end the process.
    found.error.catch(() => undefined)
    reader = found.data.getReader() as ReadableStreamDefaultReader<Uint8Array>
    const chunks: Uint8Array[] = []
    for (;;) {
      isReading = true
      const next = await Promise.race([settled(reader.read()), timeout])
      // The client compares digests when it has all bytes, and fails the stream when they differ.
      if (next.kind === 'failed') return { kind: 'corrupt' }
      isReading = false
      if (next.value.done) return { kind: 'object', bytes: Buffer.concat(chunks) }
      chunks.push(next.value.value)
    }
  } catch (cause) {
    if (isReading) await reader?.cancel().catch(() => undefined)
    return { kind: 'unavailable', cause }
  } finally {
    clearTimeout(timer)
    timeout.catch(() => undefined)
  }
}

const settled = <T>(promise: Promise<T>) =>
  promise.then(
    (value) => ({ kind: 'read', value }) as const,
    () => ({ kind: 'failed' }) as const,
  )
