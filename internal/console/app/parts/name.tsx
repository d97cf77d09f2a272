import { Fragment } from 'preact'
import { nameDoubt } from '../../../text/misleading-name.js'
import { DEFAULT_POOL } from '../../figures/usage.js'
import { Copies } from './copy.js'

const DOUBTS = {
  hidden_characters: 'This name has characters that nobody sees.',
  mixed_scripts: 'This name mixes letters of several scripts: it may look like another one.',
} as const

/** A name from outside: text in its own direction, with a mark where it may be taken for another one. */
export function Name({ children: name }: { readonly children: string }) {
  const doubt = nameDoubt(name)
  return (
    <>
      <bdi>
        <Breakable>{name}</Breakable>
      </bdi>
      {doubt !== undefined && (
        <span class="doubt" title={DOUBTS[doubt]}>
          {' '}
          (looks like another name)
        </span>
      )}
    </>
  )
}

/** A service or an owner; what no pool takes either is nobody's, under the name that the title has. */
export const Party = ({ children: name }: { readonly children: string }) =>
  name === DEFAULT_POOL ? (
    <span class="muted" title={name}>
      nobody
    </span>
  ) : (
    <Name>{name}</Name>
  )

interface OwnedProps {
  readonly service: string
  readonly owner: string
}

/** Whose calls are: what is nobody's has one name for both, which is said once. */
export const Whose = ({ service, owner }: OwnedProps) => (
  <>
    <Party>{service}</Party>
    {owner !== service && (
      <>
        {' '}
        · <Party>{owner}</Party>
      </>
    )}
  </>
)

/** The first cells of a row of a service. */
export const ServiceCells = ({ service, owner }: OwnedProps) => (
  <>
    <th scope="row">
      <Party>{service}</Party>
    </th>
    <td>
      <Party>{owner}</Party>
    </td>
  </>
)

/** An id, shortened in the middle; a click copies it whole. */
export const Id = ({ children: id }: { readonly children: string }) => (
  <Copies text={id}>{id.length > 16 ? `${id.slice(0, 9)}…${id.slice(-5)}` : id}</Copies>
)

/** Text that may go on in the next line after its punctuation, before it would within a word. */
export const Breakable = ({ children: text }: { readonly children: string }) => (
  <>
    {text.split(PUNCTUATION).map((part, at) => (
      <Fragment key={at}>
        {at > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </>
)

const PUNCTUATION = /(?<=[@._:/])(?=[^@._:/])/
