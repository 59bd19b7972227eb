import { expect, test } from 'vitest'
import { requireForeignChannels } from '../../app/foreign-events.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'

test.each(['ai_review.events', 'users.events', 'ai_review.events-old', 'patient-x', 'foreign_event-1'])(
  'the start refuses %s as a foreign channel',
  (name) => {
    const configuration = loadConfiguration({ FOREIGN_CHANNELS: `clinic.events,${name}` })
    expect(() => requireForeignChannels(configuration)).toThrow(`FOREIGN_CHANNELS must not contain ${name}`)
  },
)

test('the start accepts streams that only resemble those of the platform', () => {
  const configuration = loadConfiguration({ FOREIGN_CHANNELS: 'clinic.events,patients-x,review.events,patient' })
  expect(() => requireForeignChannels(configuration)).not.toThrow()
})
