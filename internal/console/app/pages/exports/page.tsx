import { Fragment } from 'preact'
import { filterWords } from '../../../figures/filters.js'
import { countShown } from '../../../figures/shown.js'
import { fieldShown, wordOf } from '../../../figures/words.js'
import { ask } from '../../api/ask.js'
import { useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Inside, type Opening, Opens, openingOf } from '../../parts/opens.js'
import { useDoing } from '../../parts/use-doing.js'
import type { PageProps } from '../page-props.js'
import { Create } from './create.js'
import { isUnderWay, JOBS_PATH, type Job, type JobWithFiles } from './job.js'
import { ManifestShown } from './manifest.js'

const HEAD = ['period', 'a row for each', 'filters', 'file', 'status', '#rows', 'asked for', '']

/** Files for chargeback: asked for, followed, and downloaded. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Job>(JOBS_PATH)
  const { doing, outcome } = useDoing()
  const opening = openingOf(params, 'job')
  usePolling(list.answer, list.rows.some(isUnderWay))
  const download = (id: string) =>
    doing(async () => {
      const { result_url: url } = await ask<JobWithFiles>(`${JOBS_PATH}/${id}`)
      if (url === undefined) throw new Error('Its file has been deleted.')
      location.assign(url)
      return ''
    })
  return (
    <>
      <ListSection
        title="Exports"
        what="the exports"
        about="Files are kept for seven days."
        list={list}
        head={HEAD}
        empty="None yet."
        row={(job) => (
          <Fragment key={job.job_id}>
            <Row job={job} zone={zone} opening={opening} onDownload={() => void download(job.job_id)} />
            {opening.isOpen(job.job_id) && (
              <Inside columns={HEAD.length}>
                <Details job={job} zone={zone} />
              </Inside>
            )}
          </Fragment>
        )}
      >
        {outcome}
      </ListSection>
      <Create onCreated={list.answer.reload} />
    </>
  )
}

interface RowProps {
  readonly job: Job
  readonly zone: string
  readonly opening: Opening
  readonly onDownload: () => void
}

function Row({ job, zone, opening, onDownload }: RowProps) {
  return (
    <tr>
      <th scope="row">
        <Opens id={job.job_id} opening={opening}>
          {job.period.from} – {job.period.to}
        </Opens>
      </th>
      <td class="wide">{job.group_by.map(fieldShown).join(', ')}</td>
      <td class="wide">
        {job.filters.map(({ field, operator, values }) => filterWords(field, operator, values)).join('; ') || 'none'}
        {job.suppressed !== undefined && ' (dropped: too few people)'}
      </td>
      <td>
        FOCUS {job.focus_version}, {wordOf(job.file_format)}
      </td>
      <td>
        {job.status === 'running' ? (
          <>
            <progress max={100} value={job.progress.percent} aria-label="Progress" /> {job.progress.percent} %
          </>
        ) : (
          wordOf(job.status)
        )}
      </td>
      <td class="number">{job.rows === null ? '–' : countShown(job.rows)}</td>
      <td>
        <Instant ms={Date.parse(job.created_at)} zone={zone} />
      </td>
      <td>
        {job.status === 'succeeded' && (
          <button type="button" class="quiet" onClick={onDownload}>
            Download
          </button>
        )}
      </td>
    </tr>
  )
}

function Details({ job, zone }: { readonly job: Job; readonly zone: string }) {
  switch (job.status) {
    case 'queued':
    case 'running':
      return <p>It is being written. This page follows it.</p>
    case 'failed':
      return (
        <p role="alert">
          {wordOf(job.failure?.reason ?? '')}: {job.failure?.detail} Nothing was written: create it again.
        </p>
      )
    case 'expired':
      return (
        <p>Its files have been deleted, as all are after seven days. Create it again to have it of today's figures.</p>
      )
    case 'succeeded':
      return (
        <>
          {job.suppressed !== undefined && (
            <p class="notice">
              The filters select too few people: the file is of the larger group,{' '}
              {job.suppressed.applied
                .map(({ field, operator, values }) => filterWords(field, operator, values))
                .join('; ') || 'all calls'}
              .
            </p>
          )}
          <ManifestShown job={job} zone={zone} />
          {job.files_expire_at !== null && (
            <p class="muted">
              Its files are deleted <Instant ms={Date.parse(job.files_expire_at)} zone={zone} />.
            </p>
          )}
        </>
      )
  }
}
