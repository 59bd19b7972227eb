import { describe, expect, it } from 'vitest'
import { skipEvent } from '../../../commands/projections/skip-event.ts'
import type { ProjectionEvent } from '../../../streams/projection/events.ts'
import { projections } from '../../../streams/projection/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const data = {
  projector: 'patients',
  commitPosition: '4711',
  preparePosition: '4711',
  eventId: ids.client,
  eventType: 'PatientRegistered',
  reason: 'registered twice',
  skippedBy: 'operator',
}
const command = { ...data, now: new Date(at(5)) }
const skipped: ProjectionEvent = { type: 'ProjectionEventSkipped', data: { ...data, skippedAt: at(5) } }

describe('an event that a projector skips', () => {
  it('is recorded with its position, reason and operator', () => {
    const after = given(projections).when(skipEvent, command).thenEvents([skipped])
    expect(after).toEqual({ status: 'passing-over', skipped: [skipped.data] })
  })

  it('is recorded once, also with another reason the second time', () => {
    given(projections, skipped)
      .when(skipEvent, { ...command, reason: 'another one', skippedBy: 'somebody else' })
      .thenNothing()
  })

  it('is identified by its whole position', () => {
    const other: ProjectionEvent = {
      type: 'ProjectionEventSkipped',
      data: { ...skipped.data, preparePosition: '4000' },
    }
    const after = given(projections, skipped)
      .when(skipEvent, { ...command, preparePosition: '4000' })
      .thenEvents([other])
    expect(after).toEqual({ status: 'passing-over', skipped: [skipped.data, other.data] })
  })
})
