import { HAND_ON, type Stage } from '../actor/stage.js'

/**
 * Stage B: trained inference. Mailbox `invocations.b.<partition>`.
 *
 * No model is trained in this version, and none is pretended: every event goes on to stage C, whose records then
 * say `degradation_state: disabled`.
 */
export function stageB(): Stage {
  return {
    name: 'b',
    next: 'c',
    open: async () => ({ handle: async ({ invocations }) => invocations.map(() => HAND_ON) }),
  }
}
