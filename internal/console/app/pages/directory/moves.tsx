import { callsShown, countShown, decimalShown, decimalsOf, usdShown } from '../../../figures/shown.js'
import { Whose } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import { isOver, type RuleJob } from './rule.js'

const HEAD = ['from', 'to', '#calls', '#cost USD']

/** What a rule moves from whom to whom: the most costly first. */
export function Moves({ job }: { readonly job: RuleJob }) {
  const decimals = decimalsOf(job.moves.map(({ cost_usd: cost }) => cost))
  return (
    <>
      <p role="status">
        {!isOver(job) && 'Still looking: so far '}
        <span class="strong">{callsShown(job.records)}</span> of{' '}
        <span class="strong">USD {usdShown(job.cost_usd)}</span> {job.records === 0 ? 'change' : 'move'}, of{' '}
        {countShown(job.seen)} that were looked at.
        {job.unnamed > 0 && ` ${countShown(job.unnamed)} stay, since the names of their identities are not stored.`}
      </p>
      {job.moves.length > 0 && (
        <Table label="What moves" head={HEAD}>
          {job.moves.map((move) => (
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
        </Table>
      )}
    </>
  )
}
