import {
  AccessDeniedError,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  UnknownError,
  UnsupportedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client'

export {
  MaxAppendSizeExceededError as ClientAppendTooLarge,
  StreamDeletedError as ClientStreamTombstoned,
  WrongExpectedVersionError as ClientWrongVersion,
}

/** True where the server understood the call and will never do it: rights, arguments. Everything else may pass. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof AccessDeniedError || error instanceof InvalidArgumentError || error instanceof UnsupportedError
  )
}

/** True where the server has no room on its disk, as the embedded node tells it; EventStoreDB ends instead. */
export function isWithoutRoom(error: unknown): boolean {
  return error instanceof UnknownError && error.message.includes('NoRoomOnDisk')
}

/** A short reason for logs: the client's error class and gRPC code, no message, since messages may quote arguments. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code =
    'code' in error && (typeof error.code === 'number' || typeof error.code === 'string') ? ` ${error.code}` : ''
  return `${error.constructor.name}${code}`
}
