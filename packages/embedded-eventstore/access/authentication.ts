import { ServerInterceptingCall, status, type Metadata, type ServerInterceptor } from '@grpc/grpc-js'
import { CallError } from '../wire/errors.ts'
import type { AccessControl } from './access-control.ts'
import { ANONYMOUS, type Identity } from './identity.ts'
import type { Accounts } from './users.ts'

/** Identifies the caller of each call before its handler runs. Wrong credentials end the call. */
export function authentication(access: AccessControl, accounts: Accounts): ServerInterceptor {
  return (_method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            const admit = (caller: Identity | undefined): void => {
              if (caller === undefined) return call.sendStatus(new CallError(status.UNAUTHENTICATED, 'Unauthenticated'))
              access.identify(metadata, caller)
              proceed(metadata)
            }
            const caller = callerOf(accounts, headerOf(metadata))
            if (caller instanceof Promise)
              caller.then(admit, () => call.sendStatus(new CallError(status.UNAVAILABLE, 'Server Is Too Busy')))
            else admit(caller)
          },
        }),
    })
}

/**
 * Returns the user of an `authorization` header: anonymous without a header, undefined with wrong credentials. Known
 * credentials return at once, without a promise.
 */
export function callerOf(
  accounts: Accounts,
  header: string | undefined,
): Identity | undefined | Promise<Identity | undefined> {
  const [, encoded] = /^Basic +(\S+)$/.exec(header ?? '') ?? []
  if (encoded === undefined) return ANONYMOUS
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon === -1) return ANONYMOUS
  const [login, password] = [text.slice(0, colon), text.slice(colon + 1)]
  return accounts.known(login, password) ?? accounts.prove(login, password)
}

/** A header that occurs twice counts as absent, as on the server. */
function headerOf(metadata: Metadata): string | undefined {
  const values = metadata.get('authorization')
  return values.length === 1 ? String(values[0]) : undefined
}
