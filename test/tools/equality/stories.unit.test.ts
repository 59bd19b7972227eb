import { sample } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { catalogue } from '../../../streams/catalogue.ts'
import { comparePositions } from '../../../platform/kit/positions.ts'
import { allProjectors } from '../../../tools/equality/check.ts'
import { histories, storyOf } from '../../../tools/equality/histories.ts'
import { recordedLog } from '../../../tools/equality/story.ts'

const namespace = '0b0f6c1e-3a55-5e0a-8c3e-5b1f1b7c9d10'
const stories = sample(histories(60), { numRuns: 1000, seed: 3 }).map((moves) => storyOf(moves, namespace))
const events = stories.flatMap(({ appends }) => appends).flatMap((append) => append.events)

describe('random stories', () => {
  it('contain every event type that a projector subscribes to', () => {
    const types = new Set(events.map(({ type }) => type))
    expect(allProjectors.flatMap(({ handlers }) => Object.keys(handlers)).filter((type) => !types.has(type))).toEqual(
      [],
    )
  })

  it('contain events that no projector reads, several organisations, ids in capitals, and facts of erased patients', () => {
    const handled = new Set(allProjectors.flatMap(({ handlers }) => Object.keys(handlers)))
    expect(events.some(({ type }) => !handled.has(type))).toBe(true)
    expect(stories.some(({ appends }) => new Set(appends.map(({ orgId }) => orgId)).size === 3)).toBe(true)
    const patients = stories.flatMap((story) => story.patients)
    expect(patients.some(({ id }) => id === id.toUpperCase())).toBe(true)
    expect(patients.some(({ isErased }) => isErased)).toBe(true)
  })

  it('contain only events that the catalogue accepts, except those that an erasure made null', () => {
    const refused = events.flatMap(({ type, data }) => {
      const entry = catalogue.entry(type)
      if (entry === undefined) return [`${type} is not in the catalogue`]
      const phi = entry.phiMembers.map((member) => `/${member}`)
      return entry
        .refusals(data)
        .filter(({ pointer }) => !phi.includes(pointer))
        .map(({ pointer, message }) => `${type}${pointer} ${message}`)
    })
    expect(refused).toEqual([])
  })

  it('are equal for equal moves, in a log with rising positions and revisions without gaps', () => {
    for (const moves of sample(histories(60), { numRuns: 20, seed: 2 })) {
      const log = recordedLog(storyOf(moves, namespace).appends)
      expect(recordedLog(storyOf(moves, namespace).appends)).toEqual(log)
      expect(log.toSorted((a, b) => comparePositions(a.position, b.position))).toEqual(log)
      for (const ofStream of Map.groupBy(log, ({ stream }) => stream).values())
        expect(ofStream.map(({ revision }) => revision)).toEqual(ofStream.map((_, index) => BigInt(index)))
    }
  })
})
