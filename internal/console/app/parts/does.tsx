import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { setParams, useAddress } from '../address/address.js'

interface DoesProps {
  /** In the parameter `do` of an address, it does the same: links and the palette lead there. */
  readonly name: string
  readonly onDo: () => void
  readonly children: ComponentChildren
}

/** A button that opens a dialog. */
export function Does({ name, onDo, children }: DoesProps) {
  const isAsked = useAddress().params.get('do') === name
  useEffect(() => {
    if (!isAsked) return
    setParams({ do: '' }, 'replace')
    onDo()
  }, [isAsked])
  return (
    <button type="button" onClick={onDo}>
      {children}
    </button>
  )
}
