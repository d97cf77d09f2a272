import { changesSubject } from '../../../streams/changes.js'
import { type Publisher, storedOrThrow } from '../../broker/publisher.js'
import { type Change, encodeChange } from './change.js'

/**
 * Puts changes into CHANGES. Safe to repeat: the same change is the same message, or is known by its id where it takes
 * effect.
 */
export const changePublisher =
  (publish: Publisher['publish']) =>
  (change: Change): Promise<number> =>
    storedOrThrow(publish, changesSubject(change.tenantId), encodeChange(change), change.id)
