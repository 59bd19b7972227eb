import { requireUserId } from '../../contracts/human-review/reader.ts'
import { HumanReviewPolicyRecord, toPolicyRecord } from '../../contracts/human-review/record.ts'
import { requireValid } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { humanReviewProjector } from '../../projections/human-review/human-review.projector.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { policyOf, ruleErrors, SetPolicyBody } from './bodies.ts'
import { setPolicy } from './policy.ts'
import { taskRoutes } from './task-routes.ts'

/** Human review: the policy that selects AI reviews, and the tasks of clinicians. */
export function humanReviewWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  taskRoutes(app, deps)

  commandRoute(app, deps, {
    method: 'PUT',
    path: '/policy',
    operationId: 'setHumanReviewPolicy',
    summary: 'Set which completed AI reviews of the organisation get a task',
    description: 'It applies to AI reviews that complete afterwards. Without rules no review gets a task.',
    access: { admin: 'human-review:admin' },
    body: SetPolicyBody,
    hasEtag: true,
    ifMatch: 'stream',
    reply: changed(HumanReviewPolicyRecord),
    readBy: [humanReviewProjector],
    handle: async ({ tenant, caller, body, now, run }) => {
      const updatedBy = caller.isBootstrapAdmin ? null : requireUserId(caller)
      const policy = policyOf(body)
      requireValid(ruleErrors(policy.rules))
      const command = { ...policy, organisationId: tenant, updatedBy, now }
      const done = await run(humanReviewPolicies.of(tenant), (state) => setPolicy(command, state))
      return { ...done, record: toPolicyRecord(done.state) }
    },
  })
}
