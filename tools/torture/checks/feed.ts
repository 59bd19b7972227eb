import { isDeepStrictEqual } from 'node:util'
import { at } from '../../../app/demo/members.ts'
import { placeOf, type Checked, type Fact, type Finding } from '../facts.ts'
import type { FeedReading } from '../stage/feed-reader.ts'

/**
 * What each consumer of the feed got is its channel, narrowed to its organisation: nothing skipped, nothing twice. It has at
 * least what the log had before, and at most what it had after.
 */
export function checkFeed(before: readonly Fact[], readings: readonly FeedReading[], after: readonly Fact[]): Checked {
  const had = new Set(before.map(({ id }) => id))
  const findings = readings.flatMap(({ channel, orgId, how, events }): Finding[] => {
    const due = after.flatMap((fact) => {
      const narrowed = fact.stream === channel ? narrowedTo(orgId, fact.data) : undefined
      return narrowed === undefined ? [] : [{ fact, narrowed }]
    })
    const wrong = due.find(
      ({ fact, narrowed }, index) =>
        !isDeepStrictEqual(narrowed, events[index]) && (index < events.length || had.has(fact.id)),
    )
    if (wrong !== undefined)
      return [
        {
          what: `${how} of ${channel} differ at event ${due.indexOf(wrong)} of ${due.length}`,
          where: placeOf(wrong.fact),
        },
      ]
    if (events.length <= due.length) return []
    return [{ what: `${how} of ${channel} have ${events.length} of ${due.length} events`, where: orgId }]
  })
  const examined = readings.reduce((sum, { events }) => sum + events.length, 0)
  return { check: 'feed complete, in order, once, and of the own organisation only', examined, findings }
}

/** A second definition, independent of the feed's own. Undefined: not for the organisation. */
function narrowedTo(orgId: string, data: unknown): unknown {
  const all = at(data, 'organisationIds')
  if (!Array.isArray(all)) {
    const names = ['org_id', 'orgId', 'organisationId'].map((name) => at(data, name))
    return names.find((name) => name !== undefined) === orgId ? data : undefined
  }
  if (!all.includes(orgId)) return undefined
  return all.length === 1 ? data : { ...Object(data), organisationIds: [orgId] }
}
