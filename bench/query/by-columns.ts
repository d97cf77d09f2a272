import { FIELDS } from '../../internal/records/record-fields.js'
import { readingOf, type StoredAttribution } from '../../internal/store/queries/records/attributions.js'

/** Records read by one column per field, as a person would write it, and not as pages read them. */
export const BY_COLUMNS = readingOf<StoredAttribution>(
  FIELDS.filter(({ wire }) => wire),
  [],
)
