import { status } from '@grpc/grpc-js'
import { CallError, toCallError } from '../wire/errors.ts'
import { GroupError } from '../persistent/group-errors.ts'

/** Translates an error of a call about a group. Other errors stay as they are. */
export function groupCallError(error: unknown): CallError {
  if (!(error instanceof GroupError)) return toCallError(error)
  const { refusal, stream, group } = error
  const trailers = { 'stream-name': stream, 'group-name': group }
  const place = `Subscription group ${group} on stream ${stream}`
  switch (refusal.kind) {
    case 'exists':
      return new CallError(status.ALREADY_EXISTS, `${place} exists.`, {
        exception: 'persistent-subscription-exists',
        ...trailers,
      })
    case 'missing':
      return new CallError(status.NOT_FOUND, `${place} does not exist.`, {
        exception: 'persistent-subscription-does-not-exist',
        ...trailers,
      })
    case 'full':
      return new CallError(
        status.FAILED_PRECONDITION,
        `Maximum subscriptions reached for subscription group ${group} on stream ${stream}.`,
        {
          exception: 'maximum-subscribers-reached',
          ...trailers,
        },
      )
    case 'not-ready':
      return new CallError(status.UNAVAILABLE, 'Server Is Not Ready')
    case 'failed':
      return new CallError(status.INTERNAL, `${place} failed: '${refusal.reason}'`, {
        exception: 'persistent-subscription-failed',
        ...trailers,
        reason: refusal.reason,
      })
  }
}

/** The error of a consumer's call when its group is deleted, changed, or cannot read its source. */
export function droppedByGroup(stream: string, group: string): CallError {
  return new CallError(status.CANCELLED, `Subscription group ${group} on stream ${stream} was dropped.`, {
    exception: 'persistent-subscription-dropped',
    'stream-name': stream,
    'group-name': group,
  })
}
