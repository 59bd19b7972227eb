import { decidePermission, productsSeenBy, requireUserId, taskReaderOf } from '../../contracts/human-review/reader.ts'
import { HumanReviewTaskRecord, taskView, toTaskRecord } from '../../contracts/human-review/record.ts'
import type { Caller } from '../../platform/http/access.ts'
import { problem, requireValid } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { humanReviewProjector } from '../../projections/human-review/human-review.projector.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { humanReviewTasks, type HumanReviewTaskState } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { requireLivingPatient } from '../clinical/require-patient.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { loadExisting, type Executed, type Existing } from '../../engine/commands/execute.ts'
import type { KeyedRequest } from '../../engine/commands/keyed-request.ts'
import { DecideTaskBody, opinionOf, outcomeErrors } from './bodies.ts'
import { decideTask } from './opinions.ts'
import { claimTask, releaseTask } from './tasks.ts'

const usual = {
  method: 'POST',
  access: { scopes: ['human-review:write'], permission: decidePermission },
  hasEtag: true,
  ifMatch: 'stream',
  reply: changed(HumanReviewTaskRecord),
  shows: ({ patient_id: patientId }: HumanReviewTaskRecord) => ({ patientId }),
  readBy: [humanReviewProjector],
} as const

const refusals = ['subject-erased', 'task-decided', 'task-cancelled'] as const

/** Tasks of clinicians. A task of a product that the actor does not have is missing for the actor. */
export function taskRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault } = deps

  commandRoute(app, deps, {
    ...usual,
    path: '/tasks/:id/claim',
    operationId: 'claimHumanReviewTask',
    summary: 'Claim a task for the user of the actor context, or extend the claim',
    description: 'The claim ends with its lease, which has the length that the policy now sets.',
    problems: [...refusals, 'task-claimed', 'opinion-given'],
    handle: async ({ tenant, caller, params, keyed, now, run }) => {
      const userId = requireUserId(caller)
      const request = requestOf(userId, keyed)
      await requireTask(tenant, caller, params.id)
      const { leaseSeconds } = (await store.load(humanReviewPolicies.of(tenant))).state
      const command = { userId, leaseSeconds, request, now }
      const done = await run(humanReviewTasks.of(tenant, params.id), (state) => claimTask(command, state))
      return answerOf(done, request, caller, now)
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/tasks/:id/release',
    operationId: 'releaseHumanReviewTask',
    summary: 'Release the claim of a task',
    description: 'A task that nobody holds stays as it is.',
    problems: [...refusals, 'task-claimed'],
    handle: async ({ tenant, caller, params, keyed, now, run }) => {
      const userId = requireUserId(caller)
      const request = requestOf(userId, keyed)
      const command = { userId, request, now }
      await requireTask(tenant, caller, params.id)
      const done = await run(humanReviewTasks.of(tenant, params.id), (state) => releaseTask(command, state))
      return answerOf(done, request, caller, now)
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/tasks/:id/decide',
    operationId: 'decideHumanReviewTask',
    summary: 'Confirm, correct or reject each lesion of the AI review',
    description:
      'Only the holder decides, until the lease ends. Where two opinions are required, the first one opens the task again for another user. If the two differ, a third one decides.',
    body: DecideTaskBody,
    problems: [...refusals, 'task-not-claimed'],
    refusals: {
      'lesions-incomplete': {
        code: 'validation-failed',
        member: 'lesions',
        detail: 'must have each lesion of the AI review exactly once',
        rule: 'lesions-incomplete',
      },
    },
    handle: async ({ tenant, caller, params, body, keyed, now, run }) => {
      const userId = requireUserId(caller)
      const request = requestOf(userId, keyed)
      const command = { ...opinionOf(body), userId, request, now }
      requireValid(outcomeErrors(body.lesions))
      await requireTask(tenant, caller, params.id)
      const done = await run(humanReviewTasks.of(tenant, params.id), (state) => decideTask(command, state))
      return answerOf(done, request, caller, now)
    },
  })

  /** One client sends the requests of many users. So a key belongs to a user: no opinion is taken for another user's. */
  function requestOf(userId: string, { causing }: KeyedRequest): CausingRequest {
    return causing && { ...causing, fingerprint: vault.fingerprint(`${userId}\0${causing.fingerprint}`) }
  }

  /** Product and patient of a task never change, so cached state is enough. */
  async function requireTask(tenant: TenantId, caller: Caller, taskId: string): Promise<void> {
    const state = await loadExisting(store, humanReviewTasks.of(tenant, taskId))
    if (state.status === 'absent') throw problem('not-found')
    if (productsSeenBy(caller)?.includes(state.productId) !== true) throw problem('not-found')
    await requireLivingPatient(deps, tenant, state.patientId)
  }
}

type Done = Executed<Existing<HumanReviewTaskState>, HumanReviewTaskEvent>

/** A repeat without effect is replayed only if an earlier request had its key. */
function answerOf(done: Done, request: CausingRequest, caller: Caller, now: Date) {
  const { state, events } = done
  const isReplayed = events.length === 0 && request !== null && state.requests.has(request.key)
  return { ...done, record: toTaskRecord(taskView(state), taskReaderOf(caller, now)), isReplayed }
}
