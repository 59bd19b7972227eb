import { expect, it } from 'vitest'
import {
  attemptCommand,
  causeOf,
  derivedV7,
  outcomeCommand,
  stepCommand,
} from '../../../engine/processes/step-identity.ts'

const at = new Date('2026-03-01T10:00:00.000Z')

it('is the same for the same cause and instant, and different for others', () => {
  const id = derivedV7('cause', at)
  expect(derivedV7('cause', new Date(at))).toBe(id)
  expect(derivedV7('another', at)).not.toBe(id)
  expect(derivedV7('cause', new Date(at.getTime() + 1))).not.toBe(id)
})

it('is a UUID of version 7 that sorts by its instant', () => {
  expect(derivedV7('cause', at)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(derivedV7('a', at) < derivedV7('b', new Date(at.getTime() + 1))).toBe(true)
})

it('carries the trace of the event into every command of a step, and adds none', () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
  const metadata = { commandId: id, $correlationId: id, schemaVersion: 1, signature: '' }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  for (const [given, expected] of [
    [{ ...metadata, traceparent }, traceparent],
    [metadata, undefined],
  ] as const) {
    const cause = causeOf({ id, metadata: given })
    const attempt = attemptCommand({ process: 'reminders', ...cause })
    const step = stepCommand({ process: 'reminders', name: 'reminders.remind', ...cause })
    expect([cause, step, attempt, outcomeCommand(attempt)].map((each) => each.traceparent)).toEqual(
      Array.from({ length: 4 }, () => expected),
    )
    expect(JSON.stringify(cause).includes('traceparent')).toBe(expected !== undefined)
  }
})
