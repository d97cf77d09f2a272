import type { ComponentChildren } from 'preact'
import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { Menu, MenuTitle } from '../parts/menu.js'
import { currentTokens, hasScope, signOut } from '../session/session.js'

/** Who is signed in, what is set for them, and the way out. */
export function Person({ children }: { readonly children: ComponentChildren }) {
  const userId = currentTokens()?.userId ?? ''
  // Only who may read people learns their own name.
  const named = useAnswer(hasScope('admin:config') ? userId : '', (signal) =>
    ask<{ readonly username: string }>(`/api/v1/users/${userId}`, { signal }),
  )
  return (
    <Menu summary={<MenuTitle>{named.value?.username ?? 'signed in'}</MenuTitle>}>
      {children}
      <p class="muted">{userId}</p>
      <p>{currentTokens()?.scopes.join(', ')}</p>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </Menu>
  )
}
