import { expect, test } from 'vitest'
import { CODINGS } from '../../../internal/ingest/bodies/content-coding.js'
import { INGEST_INVOCATIONS } from '../../../internal/ingest/invocation-contract.js'

test('the description of the API names every coding that a body may be packed with', () => {
  for (const coding of CODINGS.split(', ')) expect(INGEST_INVOCATIONS.description).toContain(coding)
})
