import { countShown, decimalShown, decimalsOf, measureShown } from '../../../figures/shown.js'
import { smallGroupsShown } from '../../../figures/trust.js'
import { wordOf } from '../../../figures/words.js'
import { ApiProblem, ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { Instant } from '../../parts/instant.js'
import { Id, Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Head } from '../../parts/table.js'
import { JOBS_PATH, type Job, type JobWithFiles, type Manifest } from './job.js'

/** Its address is signed: it needs, and gets, no token. */
async function readManifest(id: string, signal: AbortSignal): Promise<Manifest> {
  const job = await ask<JobWithFiles>(`${JOBS_PATH}/${id}`, { signal })
  const answer = job.manifest_url === undefined ? undefined : await fetch(job.manifest_url, { signal })
  if (answer?.ok !== true) throw new ApiProblem(answer?.status ?? 0, '', 'Its files have been deleted.')
  return (await answer.json()) as Manifest
}

interface ManifestProps {
  readonly job: Job
  readonly zone: string
}

/** What is in the file, and what is not: together, everything in the period that the filters select. */
export function ManifestShown({ job, zone }: ManifestProps) {
  const answer = useAnswer(job.job_id, (signal) => readManifest(job.job_id, signal))
  return (
    <Shown answer={answer} what="the manifest" placeholder={<div class="placeholder list-place" />}>
      {(manifest) => (
        <>
          <dl class="ledger">
            <dt>file</dt>
            <dd>
              <Name>{manifest.file.name}</Name>, {countShown(manifest.file.rows)} rows,{' '}
              {countShown(manifest.file.bytes)} bytes
            </dd>
            <dt>sha256</dt>
            <dd>
              <Id>{manifest.file.sha256}</Id>
            </dd>
            <dt>as of</dt>
            <dd>
              <Instant ms={Date.parse(manifest.as_of)} zone={zone} />
              {!manifest.period.is_complete && ', before the period has ended'}
            </dd>
            <dt>footprint</dt>
            <dd>
              {measureShown(manifest.totals.energy_wh, 'energy')},{' '}
              {measureShown(manifest.totals.carbon_gco2e, 'carbon')}
              {manifest.totals.energy_has_class_estimates === true && ', part of it estimated by class of model'}
            </dd>
            <dt>small groups</dt>
            <dd>
              {manifest.cohorts.groups_folded === 0
                ? `none: every row covers at least ${manifest.cohorts.k} people`
                : `${smallGroupsShown(manifest.cohorts.groups_folded, manifest.cohorts.k)}, in ` +
                  `${countShown(manifest.cohorts.rows_of_folded_groups)} ` +
                  `${manifest.cohorts.rows_of_folded_groups === 1 ? 'row' : 'rows'}`}
            </dd>
          </dl>
          <Sum manifest={manifest} />
        </>
      )}
    </Shown>
  )
}

function Sum({ manifest: { exported, left_out: leftOut, everything } }: { readonly manifest: Manifest }) {
  const lines = [
    { what: 'in the file', ...exported },
    ...leftOut.map(({ reason, ...amount }) => ({ what: `left out: ${wordOf(reason)}`, ...amount })),
  ]
  const decimals = decimalsOf([everything.cost_usd])
  return (
    <table class="sum">
      <Head titles={['what', 'calls', 'cost USD']} isHidden />
      <tbody>
        {[...lines, { what: 'everything', ...everything }].map(({ what, count, cost_usd: cost }, at) => (
          <tr key={what} class={at === lines.length ? 'total-line' : undefined}>
            <th scope="row">{what}</th>
            <td class="number">{countShown(count)} calls</td>
            <td class="number">{decimalShown(cost, decimals)} USD</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
