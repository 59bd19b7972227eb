import { Type, type Static } from 'typebox'
import {
  attemptPasswordReset,
  recordPasswordReset,
  waitsUntil,
  type RecordPasswordReset,
} from '../../commands/users/reset-password.ts'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
} from '../../contracts/users/identity-provider.ts'
import { users } from '../../streams/user/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { openAttempt } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { nextDelay } from '../../engine/processes/step-timing.ts'

/** The row's key is the user. */
export const ResetPayload = Type.Object({ requestId: Type.String() })

/** Delays before the next attempts, in milliseconds, while the message is certainly not sent. */
const retryScheduleMs = [10_000, 60_000, 300_000, 1_800_000]

/** Each call sends a message, so an attempt fences it: what may have been sent is never sent again by itself. */
export async function resetPassword(
  todo: Todo<Static<typeof ResetPayload>>,
  { store, identityProvider, failpoint }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const { requestId } = todo.payload
  const target = users.of(todo.key)
  const attempt = await openAttempt({ todo, step, store }, target, (opening, state) =>
    attemptPasswordReset({ ...opening, requestId }, state),
  )
  const user = attempt.state
  const reset = 'externalId' in user ? user.passwordReset : null
  if (!('externalId' in user) || reset === null) return { kind: 'done' }
  if (!attempt.isOpen) {
    const until = waitsUntil(reset, step.now(), step.endedLeases)
    return until === null ? { kind: 'done' } : { kind: 'wait', until }
  }

  const outcome = await attempt.call((signal) =>
    outcomeOf(() => identityProvider.resetPassword(user.externalId, signal)),
  )
  failpoint('password-reset-sent')
  const now = step.now()
  const record = { requestId, attemptId: attempt.id, outcome: afterAttempt(outcome, reset.attempts, now), now }
  const { position } = await attempt.record((state) => recordPasswordReset(record, state))
  return { kind: 'done', position }
}

type Sent = 'sent' | 'rejected' | 'unknown' | 'not-sent'

/** An error that nobody foresaw is an unknown outcome too. */
async function outcomeOf(send: () => Promise<void>): Promise<Sent> {
  try {
    await send()
    return 'sent'
  } catch (error) {
    if (error instanceof IdentityProviderRejectedError) return 'rejected'
    return error instanceof IdentityProviderUnavailableError && !error.mayHaveHappened ? 'not-sent' : 'unknown'
  }
}

function afterAttempt(sent: Sent, attempts: number, now: Date): RecordPasswordReset['outcome'] {
  if (sent !== 'not-sent') return sent
  const delay = nextDelay(retryScheduleMs, attempts)
  return delay === undefined ? 'unavailable' : { nextAttemptAt: new Date(now.getTime() + delay) }
}
