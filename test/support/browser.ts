/** A browser on the sign-in page: opens it, keeps its cookie, submits its form, and stops at a redirect. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Target of the redirect; undefined when there is none. */
  readonly location: URL | undefined
}

export interface Browser {
  open(address: string | URL): Promise<Answer>
  /** Submits the form of the last opened page, with these fields and the hidden ones. */
  submit(fields: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

export function openBrowser(): Browser {
  const cookies = new Map<string, string>()
  let page: { readonly address: URL; readonly text: string } | undefined

  const send = async (address: URL, init: RequestInit & { headers?: Record<string, string> }): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, {
      ...init,
      redirect: 'manual',
      headers: { accept: ACCEPT, ...(cookie === '' ? {} : { cookie }), ...init.headers },
    })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const text = await response.text()
    if (response.headers.get('content-type')?.startsWith('text/html')) page = { address, text }
    return {
      status: response.status,
      headers: response.headers,
      text,
      location: location === null ? undefined : new URL(location, address),
    }
  }

  return {
    open: (address) => send(new URL(address), {}),
    submit(fields, headers = {}) {
      if (page === undefined) throw new Error('no page is open')
      const { method, action } =
        /<form method="(?<method>\w+)" action="(?<action>[^"]+)">/.exec(page.text)?.groups ?? {}
      if (method === undefined || action === undefined) throw new Error(`the page has no form: ${page.text}`)
      const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
        ([, name = '', value = '']): [string, string] => [name, value],
      )
      return send(new URL(action, page.address), {
        method: method.toUpperCase(),
        body: new URLSearchParams([...hidden, ...Object.entries(fields)]),
        headers,
      })
    },
  }
}
