import { expect, it } from 'vitest'
import { problem } from '../../platform/http/problems.ts'
import { translateStageError } from '../../app/stage-errors.ts'
import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreClosedError,
  EventStoreFullError,
  EventStoreUnavailableError,
  RevisionConflictError,
  StreamRevivedError,
  StreamTombstonedError,
  StreamTruncatedError,
  UndecodableEventError,
  UnknownEventTypeError,
} from '../../engine/store/errors.ts'

const head = {
  id: 'a',
  type: 'Praised',
  stream: 'patient-a-b',
  revision: 0n,
  position: { commit: 1n, prepare: 1n },
  recordedAt: '2026-01-01T00:00:00.000Z',
}
const withCode = (code: string, more: object = {}) => Object.assign(new Error('x'), { code, ...more })

it.each([
  ['conflict', new RevisionConflictError('patient-a-b', 1n, 2n)],
  ['command-too-large', new AppendTooLargeError('patient-a-b', 2_000_000, 1_048_576)],
  ['event-store-unavailable', new AppendOutcomeUnknownError('patient-a-b', 3)],
  ['event-store-unavailable', new EventStoreUnavailableError('a read')],
  ['event-store-unavailable', new EventStoreFullError('patient-a-b')],
  ['written-by-newer-version', new UnknownEventTypeError(head)],
  ['written-by-newer-version', new UndecodableEventError(head, 'newer-version')],
  ['record-unreadable', new UndecodableEventError(head, 'signature')],
  ['record-unreadable', new UndecodableEventError(head, 'upcaster')],
  ['record-unreadable', new StreamRevivedError('patient-a-b', 3n)],
  ['record-unreadable', new StreamTombstonedError('patient-a-b')],
  ['record-unreadable', new StreamTruncatedError('patient-a-b', 0n)],
  ['shutting-down', new EventStoreClosedError()],
  ['database-unavailable', withCode('ECONNREFUSED')],
  ['database-unavailable', withCode('57P01')],
  ['database-unavailable', withCode('3D000')],
  ['database-unavailable', withCode('53100')],
  [
    'database-unavailable',
    Object.assign(new Error('could not extend file "base/5/1259": File too large'), { code: 'XX000' }),
  ],
  [
    'database-unavailable',
    Object.assign(new Error('could not write to file "base/5/1259": Disk quota exceeded'), { code: 'XX000' }),
  ],
  ['read-model-behind', withCode('42P01')],
  ['read-model-behind', withCode('3F000')],
  ['object-store-unavailable', withCode('ECONNREFUSED', { $metadata: { attempts: 3 } })],
  ['object-store-unavailable', withCode('InternalError', { $metadata: { httpStatusCode: 500 } })],
])('%s', (code, error) => {
  expect(translateStageError(error)?.code).toBe(code)
})

it('leaves all other errors to become a 500', () => {
  for (const error of [
    new Error('x'),
    withCode('23505'),
    withCode('XX000'),
    withCode('NoSuchKey', { $metadata: { httpStatusCode: 404 } }),
    problem('conflict'),
    'x',
    undefined,
  ]) {
    expect(translateStageError(error)).toBeUndefined()
  }
})

it('returns Retry-After for an outage', () => {
  expect(translateStageError(new EventStoreUnavailableError('a read'))?.headers).toEqual({ 'retry-after': '2' })
  expect(translateStageError(new EventStoreFullError('patient-a-b'))?.headers).toEqual({ 'retry-after': '10' })
})
