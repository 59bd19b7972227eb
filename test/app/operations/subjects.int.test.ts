import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSubjects } from '../../../app/operations/subjects.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { auditRecords } from '../../../contracts/audit/records-in-order.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { auditSubjectsProjector } from '../../../projections/audit/audit-subjects.projector.ts'
import { notificationsProjector } from '../../../projections/notifications/notifications.projector.ts'
import { usersProjector } from '../../../projections/users/users.projector.ts'
import { webhookDeliveriesProjector } from '../../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { at, caseFact } from '../../streams/facts.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

const projectors = [
  auditSubjectsProjector,
  notificationsProjector,
  usersProjector,
  webhookDeliveriesProjector,
  webhookSubscriptionsProjector,
]

let world: DecisionWorld
let database: FreshDatabase
let pool: Pool
let runner: ProjectionRunner
beforeAll(async () => {
  ;[world, database] = await Promise.all([openDecisionWorld({ hasOwnNode: true }), freshDatabase()])
  pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const filter = { streamPrefixes: projectedStreams }
  runner = new ProjectionRunner({ eventStore: world.store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
})
afterAll(async () => {
  await runner.close()
  await pool.end()
  await Promise.all([world.close(), database.drop()])
})

test('a case with thousands of events has its beginning and its end', async () => {
  const caseId = randomUUID()
  const found = Array.from({ length: 400 }, () => caseFact('CaseFindingRecorded', { caseId, findingId: randomUUID() }))
  const batches: readonly (readonly CaseEvent[])[] = [
    [caseFact('CaseOpened', { caseId, organisationId: world.orgId })],
    ...Array.from({ length: 6 }, () => found),
    [caseFact('CaseClosed', { caseId })],
  ]
  const target = cases.of(world.orgId, caseId)
  const positions = new ReadPositions({ pool, projectors, runner })
  for (const batch of batches) {
    const { revision } = await world.store.load(target)
    const { position } = await world.store.append(target, revision, batch, contextOf(world))
    const names = projectors.map(({ name }) => name)
    await positions.waitFor(position, names, 15_000)
  }
  const records = auditRecords(world.store)
  const { find } = createSubjects({ pool, failedRetentionSeconds: 60, records, isErased: () => false })
  expect(await find(world.orgId, caseId)).toMatchObject({
    kind: 'case',
    status: 'closed',
    created_at: caseFact('CaseOpened').data.openedAt,
    ended_at: at(40),
  })
})
