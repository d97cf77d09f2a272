import { useState } from 'preact/hooks'
import { ask } from '../api/ask.js'
import { withStepUp } from './step-up.js'
import { type Change, type TwoChanges, twoChanges } from './two-changes.js'

/** Changes something over the API, with a new sign-in where that is asked for. @throws ApiProblem */
export function change<T = undefined>(...[method, path, body]: Change): Promise<T> {
  const idempotencyKey = crypto.randomUUID()
  return withStepUp(() => ask<T>(path, { method, body, idempotencyKey }))
}

/** For one button at a time. */
export const useTwoChanges = (): TwoChanges => useState(() => twoChanges(change))[0]

/** The same with a file as its body. */
export const changeByFile = <T>(path: string, file: { readonly type: string; readonly text: string }): Promise<T> =>
  withStepUp(() => ask<T>(path, { method: 'PUT', file }))

const POLL_MS = 700

/** Follows something that is under way to its end. */
export async function followed<T>(first: T, isEnded: (seen: T) => boolean, path: string, show: (seen: T) => void) {
  for (let seen = first; ; seen = await ask<T>(path)) {
    show(seen)
    if (isEnded(seen)) return seen
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
