export type Change = readonly [method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object | undefined]

/**
 * Two changes that one button makes. Where the second one fails, the person corrects what they typed and presses the
 * button again: the first is made already, and the service would refuse it as a duplicate.
 *
 * @param make changes something over the API
 */
export function twoChanges(make: <T>(...change: Change) => Promise<T>) {
  let made: { readonly stated: string; readonly answer: unknown } | undefined
  /** @param second gets the answer to the first */
  return async <T, R>(first: Change, second: (answer: T) => Promise<R>): Promise<R> => {
    const stated = JSON.stringify(first)
    if (made?.stated !== stated) made = { stated, answer: await make(...first) }
    const result = await second(made.answer as T)
    made = undefined
    return result
  }
}

export type TwoChanges = ReturnType<typeof twoChanges>
