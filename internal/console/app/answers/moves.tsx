import type { Reattribution } from 'attribution-service/sdk/api'
import { callsShown, countShown, decimalShown, decimalsOf, usdShown } from '../../figures/shown.js'
import { AndMore } from '../parts/and-more.js'
import { Whose } from '../parts/name.js'
import { Table } from '../parts/table.js'

const HEAD = ['from', 'to', '#calls', '#cost USD']
const LISTED_MAX = 12

/** What a job of the API moves, or would move. */
type MovingJob = Pick<Reattribution, 'status' | 'dry_run' | 'seen' | 'records' | 'cost_usd' | 'unnamed' | 'moves'>

interface MovesProps {
  readonly job: MovingJob
  /** Calls that it looks at, where that is known. */
  readonly ofCalls?: number
  /** Of its table, where a page has several. */
  readonly label?: string
}

/** What moves from whom to whom, the most costly first, and how far it is. */
export function Moves({ job, ofCalls, label = 'What moves' }: MovesProps) {
  const decimals = decimalsOf(job.moves.map(({ cost_usd: cost }) => cost))
  const isRunning = job.status === 'running'
  const verb = job.dry_run ? 'would move' : isRunning ? 'have moved' : 'moved'
  return (
    <>
      <p role="status">
        {isRunning && `${job.dry_run ? 'Looking' : 'Moving'}: so far `}
        <span class="strong">{callsShown(job.records)}</span> of{' '}
        <span class="strong">USD {usdShown(job.cost_usd)}</span> {verb}, of {countShown(job.seen)} that were looked at.
        {job.unnamed > 0 && ` ${countShown(job.unnamed)} stay, since the names of their identities are not stored.`}
      </p>
      {isRunning && (
        <progress
          aria-label="Calls that were looked at"
          {...(ofCalls !== undefined && { value: Math.min(job.seen, ofCalls), max: Math.max(1, ofCalls) })}
        />
      )}
      {job.moves.length > 0 && (
        <Table label={label} head={HEAD}>
          {job.moves.slice(0, LISTED_MAX).map((move) => (
            <tr key={`${move.from_service} ${move.from_owner} ${move.to_service} ${move.to_owner}`}>
              <th scope="row">
                <Whose service={move.from_service} owner={move.from_owner} />
              </th>
              <td class="wide">
                <Whose service={move.to_service} owner={move.to_owner} />
              </td>
              <td class="number">{countShown(move.records)}</td>
              <td class="number">{decimalShown(move.cost_usd, decimals)}</td>
            </tr>
          ))}
          <AndMore columns={HEAD.length} count={job.moves.length - LISTED_MAX} />
        </Table>
      )}
    </>
  )
}
