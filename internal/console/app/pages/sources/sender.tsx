import { linkTo } from '../../../figures/address.js'
import { Name } from '../../parts/name.js'

interface SenderProps {
  readonly name: string
  /** In the last 24 hours. */
  readonly calls: number
  readonly params: URLSearchParams
}

/** A credential: a link to its calls, where there are any. */
export const Sender = ({ name, calls, params }: SenderProps) =>
  calls === 0 ? (
    <Name>{name}</Name>
  ) : (
    <a href={linkTo('explorer', params, { period: '24h', 'filter[credential][eq]': name })}>
      <Name>{name}</Name>
    </a>
  )
