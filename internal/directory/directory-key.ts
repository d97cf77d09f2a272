import { escapeToken } from '../../streams/subjects.js'
import type { DirectoryKind } from './entries.js'

/** The key of an entry (streams/buckets.ts). */
export const directoryKey = (tenantId: string, kind: DirectoryKind, name: string): string =>
  `${tenantId}.${kind}.${escapeToken(name)}`
