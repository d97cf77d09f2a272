import { useEffect } from 'preact/hooks'
import { answerWords } from '../../figures/answers.js'
import { countShown, usdShown } from '../../figures/shown.js'
import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { usePolling } from '../api/use-polling.js'
import { useTwoChanges } from '../parts/change.js'
import { Instant } from '../parts/instant.js'
import { Shown } from '../parts/states.js'
import { Table } from '../parts/table.js'
import { useDoing } from '../parts/use-doing.js'
import { useActors, Who } from '../parts/who.js'
import { ANSWERS_PATH, type Answer, undoAnswer } from './answer.js'

interface RecentProps {
  readonly zone: string
  /** Another number reads the list again. */
  readonly round: number
  /** Called when calls have moved back. */
  readonly onUndone: () => void
}

const AUDITED_MS = 2_000
const HEAD = ['answer', '#calls', '#cost USD', 'by', 'at', '']

/** What people answered in the last days, with what it moved, and the way back. */
export function Recent({ zone, round, onUndone }: RecentProps) {
  const answer = useAnswer(`answers ${round}`, (signal) =>
    ask<{ readonly data: readonly Answer[] }>(ANSWERS_PATH, { signal }),
  )
  usePolling(answer, answer.value?.data.some(({ status }) => status === 'running') ?? false)
  // The audit log, from which the list is, has an answer some moments after it was given.
  const { reload } = answer
  useEffect(() => {
    if (round === 0) return
    const timer = setTimeout(reload, AUDITED_MS)
    return () => clearTimeout(timer)
  }, [round, reload])
  const actors = useActors()
  const { doing, outcome, isBusy } = useDoing()
  const twoChanges = useTwoChanges()
  const undo = (of: Answer) =>
    doing(async () => {
      await undoAnswer(of, twoChanges)
      answer.reload()
      onUndone()
      return `Taken back: ${answerWords(of)}.`
    })
  return (
    <section class="list recent" aria-label="Recent answers">
      <header>
        <h2>Recent answers</h2>
        <p class="muted">Of the last 30 days, with the calls of the past that they moved.</p>
      </header>
      {outcome}
      <Shown answer={answer} what="the recent answers" placeholder={<div class="placeholder list-place" />}>
        {({ data }) =>
          data.length === 0 ? (
            <p>None yet. What you answer here is listed with what it moved, and can be taken back.</p>
          ) : (
            <Table label="Answers and what they moved" head={HEAD}>
              {data.map((each) => (
                <tr key={`${each.id} ${each.created_at}`} class={each.status === 'undone' ? 'apart' : undefined}>
                  <th scope="row" class="wide">
                    <bdi>{answerWords(each)}</bdi>
                  </th>
                  <td class="number">{countShown(each.records)}</td>
                  <td class="number">{each.cost_usd === null ? '–' : usdShown(each.cost_usd)}</td>
                  <td>
                    <Who id={each.actor} actors={actors} />
                  </td>
                  <td>
                    <Instant ms={Date.parse(each.created_at)} zone={zone} />
                  </td>
                  <td>
                    {each.can_undo ? (
                      <button type="button" class="quiet" disabled={isBusy} onClick={() => void undo(each)}>
                        {each.what === 'mapping_rule' ? 'Remove the rule' : 'Undo'}
                        <span class="hidden">: {answerWords(each)}</span>
                      </button>
                    ) : (
                      each.status !== 'done' && <span class="muted">{STATUS[each.status]}</span>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  )
}

const STATUS = { running: 'moving …', cancelled: 'stopped', undone: 'undone' } as const
