import { setTimeout as sleep } from 'node:timers/promises'
import { v5 } from 'uuid'
import { problem } from '../../platform/http/problems.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import { execute } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { resolveMembership } from './organisation-membership.ts'
import { isUnderWay, startRegistration } from './registration.ts'
import {
  attemptRegistration,
  createdUser,
  failed,
  providerTimeoutMs,
  retryAfterSeconds,
  type Registered,
  type RegisterUser,
  type UserDependencies,
} from './registration-attempt.ts'

/** Pauses between two looks at the attempt of another request, in milliseconds. */
const firstPauseMs = 50
const longestPauseMs = 250
const answering = answeringRefusals({})

/**
 * Creates the account at the identity provider and then the user. The user's stream contains the attempt before the call. A
 * crash thus leaves an attempt whose lease ends, and the process `users` removes its account. Every outcome but success
 * leaves neither an account nor a reservation. A request with the same key as a running one waits for it and gets its
 * outcome. A request after a failed one starts at once.
 *
 * @throws Problem `email-in-use`, `idempotency-key-reused`, `registration-under-way`, `identity-provider-unavailable`,
 * `identity-provider-rejected`, `subject-erased`, those of `assignRoleFirst`
 */
export async function registerUser(
  deps: UserDependencies,
  command: RegisterUser,
  context: CommandContext,
): Promise<Registered> {
  const { store, now } = deps
  const { userId, fingerprint, changedBy, membership } = command
  const target = users.of(userId)
  const named = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  const longestWaitMs = deps.configuration.readYourWritesMs + providerTimeoutMs
  let waitedMs = 0

  for (let turn = 1; ; turn++) {
    if ('externalId' in (await afterOthers())) return repeat()
    const done = await attemptRegistration(deps, command, named(`turn ${turn}`))
    if (done !== null) return done
  }

  /** The state without an attempt of another request. @throws Problem the outcome of an attempt that failed meanwhile */
  async function afterOthers(): Promise<UserState> {
    let { state } = await store.load(target)
    for (let pauseMs = firstPauseMs; isUnderWay(state, now()); pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      if ('fingerprint' in state && state.fingerprint !== fingerprint) throw problem('idempotency-key-reused')
      if (waitedMs >= longestWaitMs) throw problem('registration-under-way', { retryAfterSeconds })
      await sleep(pauseMs)
      waitedMs += pauseMs
      const hasRun = state.status === 'registering'
      ;({ state } = await store.load(target))
      if (hasRun && state.status === 'abandoned' && state.reason !== 'lease-ended') throw failed(state.reason)
    }
    return state
  }

  /** The answer to a repeat of the same key. Whoever reads it may use the membership, also if the attempt ended half-way. */
  async function repeat(): Promise<Registered> {
    const start = { userId, attemptId: userId, fingerprint, changedBy, leaseUntil: now(), now: now() }
    const done = await execute(store, target, (state) => answering(startRegistration(start, state)), named('repeat'))
    if (membership !== null) await resolveMembership(deps, { ...membership, changedBy }, done.state, context)
    return { ...done, state: createdUser(done.state) }
  }
}
