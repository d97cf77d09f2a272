import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.js'
import { Form } from './form.js'

interface FormDialogProps {
  readonly title: string
  /** What the button does: "Add the price". */
  readonly verb: string
  readonly onClose: () => void
  /** Closes the dialog unless it throws: what went wrong is shown, and what was typed stays. */
  readonly send: (fields: FormData) => Promise<void>
  readonly children?: ComponentChildren
}

/** A dialog that asks for something, or for a confirmation where it has no fields. */
export function FormDialog({ title, verb, onClose, send, children }: FormDialogProps) {
  const sendAndClose = async (fields: FormData): Promise<void> => {
    await send(fields)
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form verb={verb} send={sendAndClose} onLeave={onClose}>
        {children}
      </Form>
    </Dialog>
  )
}
