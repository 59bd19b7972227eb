import { expect, it } from 'vitest'
import { operatorActionsProjector } from '../../../projections/operations/operator-actions.projector.ts'
import { operationsStream } from '../../../streams/operations/aggregate.ts'
import { at, ids, operationsFact } from '../../streams/facts.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'

const rowsOf = (...events: readonly ReturnType<typeof operationsFact>[]) =>
  rowsAfter(operatorActionsProjector, recorded(events.map((event) => ({ ...event, stream: operationsStream.stream }))))
const retry = operationsFact('OperatorActionRecorded')

it('an action has a row, with what a retry takes', async () => {
  const row = {
    action_id: ids.claim,
    at: at(0),
    action: 'group.retry',
    actor_kind: 'user',
    actor_id: ids.client,
    subject_kind: 'group',
    subject_id: ids.event,
    reason: 'the provider is back',
    count: 3,
    failure: retry.data.retried?.failure,
    projection: null,
    retried_org_id: null,
  }
  expect(await rowsOf(retry)).toEqual({ actions: [row] })
})

it('a later event of the same action replaces the count', async () => {
  const uses = { action: 'administrator_secret.use', retried: null } as const
  const [first, second] = [1, 2].map((count) => operationsFact('OperatorActionRecorded', { ...uses, count }))
  const rows = await rowsOf(...[first, second].flatMap((event) => (event === undefined ? [] : [event])))
  expect(rows).toMatchObject({ actions: [{ action: 'administrator_secret.use', count: 2 }] })
})
