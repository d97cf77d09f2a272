import { smallGroupsShown } from '../../figures/trust.js'

interface SmallGroupsProps {
  readonly groups: number | undefined
  /** People that a row has at least, where the answer says so. */
  readonly least?: number | undefined
}

/** The name of a row of groups that have too few people for rows of their own. */
export const SmallGroups = ({ groups = 1, least }: SmallGroupsProps) => (
  <>
    small groups <span class="muted">({smallGroupsShown(groups, least)})</span>
  </>
)
