import { KEYS_SUBJECT } from '../../../streams/keys.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Logger } from '../../telemetry/log.js'
import type { Spool } from '../spool/spool.js'
import { readAdmittedKeys } from './admitted-keys.js'

/**
 * Adds the keys that wait in spools: their requests were answered with a 202, and KEYS does not have them yet. Call it
 * before the spools are delivered.
 */
export async function addSpooledKeys(
  spools: readonly Pick<Spool, 'records' | 'folder'>[],
  keys: AdmissionIndex,
  nowMs: number,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  for (const spool of spools) {
    try {
      for await (const { subject, payload } of spool.records()) {
        if (subject !== KEYS_SUBJECT) continue
        for (const { hash, fingerprint, flags } of readAdmittedKeys(payload))
          keys.admit(hash, fingerprint, flags, nowMs)
      }
    } catch (cause) {
      const { folder } = spool
      log.error({ err: cause, folder }, 'the keys in the spool of a dead gateway could not be read')
    }
  }
}
