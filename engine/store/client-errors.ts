import {
  convertToCommandError,
  AccessDeniedError,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  UnknownError,
  UnsupportedError,
  WrongExpectedVersionError,
} from '../../platform/kit/event-store-client.ts'
import { status } from '@grpc/grpc-js'

export {
  MaxAppendSizeExceededError as ClientAppendTooLarge,
  StreamDeletedError as ClientStreamTombstoned,
  WrongExpectedVersionError as ClientWrongVersion,
}

/**
 * The client's error for a call that failed. The client throws on the refusal of a follower that knows no leader. Here
 * it stays the error of the call.
 */
export function commandErrorOf(error: Error): Error {
  try {
    return convertToCommandError(error)
  } catch {
    return error
  }
}

/**
 * True if the server understood the call and will never accept it: rights, arguments. All other errors may be
 * temporary.
 */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof AccessDeniedError || error instanceof InvalidArgumentError || error instanceof UnsupportedError
  )
}

/**
 * Why the server refuses its user: a login or password that it does not accept, or a missing right. Undefined for other
 * errors.
 */
export function denialOf(error: unknown): 'login' | 'right' | undefined {
  if (!(error instanceof AccessDeniedError)) return undefined
  return error.code === status.UNAUTHENTICATED ? 'login' : 'right'
}

/** True if the server has no room on its disk. Only the embedded node reports this; EventStoreDB stops instead. */
export function isWithoutRoom(error: unknown): boolean {
  return error instanceof UnknownError && error.message.includes('NoRoomOnDisk')
}

/**
 * A short reason for logs: the client's error class and gRPC code. No message, because messages may quote arguments.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code =
    'code' in error && (typeof error.code === 'number' || typeof error.code === 'string') ? ` ${error.code}` : ''
  return `${error.constructor.name}${code}`
}
