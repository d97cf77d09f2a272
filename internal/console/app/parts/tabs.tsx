import { linkTo } from '../../figures/address.js'

interface TabsProps {
  readonly label: string
  readonly page: string
  /** Of the address. */
  readonly param: string
  readonly params: URLSearchParams
  /** Titles by the value of the parameter; the first is the one without it. */
  readonly titles: Readonly<Record<string, string>>
}

/** Lists that share a page: links, so that each has an address. What is open or found in one list stays there. */
export const Tabs = ({ label, page, param, params, titles }: TabsProps) => {
  const open = chosenTab(params, param, titles)
  return (
    <nav class="tabs" aria-label={label}>
      {Object.entries(titles).map(([key, title], at) => (
        <a
          key={key}
          href={linkTo(page, params, at === 0 ? {} : { [param]: key })}
          aria-current={key === open ? 'page' : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  )
}

export function chosenTab<K extends string>(params: URLSearchParams, param: string, titles: Record<K, string>): K {
  const keys = Object.keys(titles) as K[]
  return keys.find((key) => key === params.get(param)) ?? (keys[0] as K)
}
