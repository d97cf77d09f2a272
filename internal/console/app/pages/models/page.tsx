import { Fragment } from 'preact'
import { shareOf } from '../../../figures/shown.js'
import { useList } from '../../api/use-list.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Inside, Opens, openingOf } from '../../parts/opens.js'
import type { PageProps } from '../page-props.js'
import { Details } from './details.js'
import { MODELS_PATH, type Model, STATUS_WORDS } from './model.js'

const HEAD = ['trained', 'status', 'validation', '#right when sure', '#sure of', '#nobody known', 'promoted']

/** The versions of the model that names calls without proof. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Model>(MODELS_PATH)
  const opening = openingOf(params, 'model')
  return (
    <ListSection
      title="Models"
      what="the model versions"
      about="They name the service of calls that no fact proves. Sure: a confidence of 0.80 or more."
      list={list}
      head={HEAD}
      empty={
        'None yet. A model is trained once there are enough calls whose service is proved; ' +
        'until then, a heuristic baseline gives advisory results.'
      }
      row={(model) => (
        <Fragment key={model.id}>
          <tr>
            <th scope="row">
              <Opens id={model.id} opening={opening}>
                <Instant ms={Date.parse(model.created_at)} zone={zone} />
              </Opens>
            </th>
            <td>{STATUS_WORDS[model.status]}</td>
            <td>{model.validation.passed ? 'passed' : 'not passed'}</td>
            <td class="number">
              {model.validation.served_traffic.precision_at_floor === null
                ? '–'
                : shareOf(model.validation.served_traffic.precision_at_floor)}
            </td>
            <td class="number">{shareOf(model.validation.served_traffic.share_at_floor)}</td>
            <td class="number">{shareOf(model.unknown_share)}</td>
            <td>{model.promoted_at === null ? 'never' : <Instant ms={Date.parse(model.promoted_at)} zone={zone} />}</td>
          </tr>
          {opening.isOpen(model.id) && (
            <Inside columns={HEAD.length}>
              <Details model={model} zone={zone} onChanged={list.answer.reload} />
            </Inside>
          )}
        </Fragment>
      )}
    />
  )
}
