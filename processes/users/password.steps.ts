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
import { users, type PasswordReset, type UserState } from '../../streams/user/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { outsideCall } from '../../engine/processes/attempt.ts'

/** The row's key is the user. */
export const ResetPayload = Type.Object({ requestId: Type.String() })

/** Delays before the next attempts, in milliseconds, while the message is certainly not sent. */
const retryScheduleMs = [10_000, 60_000, 300_000, 1_800_000]

type Resetting = Extract<UserState, { readonly externalId: string }> & { readonly passwordReset: PasswordReset }

/** Each call sends a message, so an attempt fences it: what may have been sent is never sent again by itself. */
export const resetPassword: ProcessStep<Static<typeof ResetPayload>> = async (
  todo,
  { store, identityProvider, failpoint },
  step,
) => {
  const { requestId } = todo.payload
  const { state: user } = await store.load(users.of(todo.key))
  // Otherwise the message could go to an address that the user has no more.
  if (isResetting(user) && user.account === null) return { kind: 'wait', until: new Date(step.now().getTime() + 1_000) }
  return outsideCall({ todo, step, store }, users.of(todo.key), {
    open: (opening, state) => attemptPasswordReset({ ...opening, requestId }, state),
    isOpen: isResetting,
    waitsUntil: (state, now, endedLeases) =>
      isResetting(state) ? waitsUntil(state.passwordReset, now, endedLeases) : null,
    async call(signal, { externalId }) {
      const sent = await sentBy(() => identityProvider.resetPassword(externalId, signal))
      failpoint('password-reset-sent')
      return sent
    },
    async conclude(sent, { passwordReset: { attempts } }, { id: attemptId, record }) {
      const now = step.now()
      const command = { requestId, attemptId, outcome: afterAttempt(sent, attempts, now), now }
      const { position } = await record((state) => recordPasswordReset(command, state))
      return { kind: 'done', position }
    },
  })
}

function isResetting(state: UserState): state is Resetting {
  return 'externalId' in state && state.passwordReset !== null
}

type Sent = 'sent' | 'rejected' | 'unknown' | 'not-sent'

/** An error that nobody foresaw is an unknown outcome too. */
async function sentBy(send: () => Promise<void>): Promise<Sent> {
  try {
    await send()
    return 'sent'
  } catch (error) {
    if (error instanceof IdentityProviderRejectedError) return error.isOfPlatform ? 'not-sent' : 'rejected'
    return error instanceof IdentityProviderUnavailableError && !error.mayHaveHappened ? 'not-sent' : 'unknown'
  }
}

function afterAttempt(sent: Sent, attempts: number, now: Date): RecordPasswordReset['outcome'] {
  if (sent !== 'not-sent') return sent
  const delay = retryScheduleMs[attempts - 1]
  return delay === undefined ? 'unavailable' : { nextAttemptAt: new Date(now.getTime() + delay) }
}
