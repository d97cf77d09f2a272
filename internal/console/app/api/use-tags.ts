import type { ReportDimension } from 'attribution-service/sdk/api'
import { ask } from './ask.js'
import { useAnswer } from './use-answer.js'

/** A declared tag key, as `tags.<key>` of filters and groups names it. */
export interface Tag {
  readonly name: string
  readonly key: string
  readonly personal: boolean
}

const PATH = '/v1/reports/dimensions'

let known: Promise<readonly Tag[]> | undefined

/** What is declared has changed. */
export const forgetTags = (): void => {
  known = undefined
}

function readTags(): Promise<readonly Tag[]> {
  known ??= ask<{ readonly data: readonly ReportDimension[] }>(PATH).then(({ data }) =>
    data.flatMap(({ name, tag }) => (tag === null ? [] : [{ name, ...tag }])),
  )
  known.catch(forgetTags)
  return known
}

/** The declared tag keys; undefined until they are known, and none where they cannot be. */
export function useTags(): readonly Tag[] | undefined {
  const { value, problem } = useAnswer(PATH, readTags)
  return problem === undefined ? value : (value ?? NONE)
}

const NONE: readonly Tag[] = []
