import { ServerInterceptingCall, status, type Metadata, type ServerInterceptor } from '@grpc/grpc-js'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { accessDenied, CallError } from '../wire/errors.ts'
import type { AccessControl } from './access-control.ts'
import { ANONYMOUS, type Identity } from './identity.ts'
import type { Accounts } from './users.ts'

/** The calls that need no account. Their requests are empty. */
const OPEN_CALLS: ReadonlySet<string> = new Set(
  [GossipService.read, ServerFeaturesService.getSupportedMethods].map(({ path }) => path),
)

/**
 * Identifies the caller of each call before its handler runs. Wrong credentials end the call. So do missing ones, before
 * the call's messages are read: grpc-js keeps a message until it is whole, which takes memory for as long as a caller likes.
 */
export function authentication(access: AccessControl, accounts: Accounts): ServerInterceptor {
  return ({ path }, call) => {
    const isOpen = OPEN_CALLS.has(path)
    const Call = isOpen ? EmptyRequestCall : ServerInterceptingCall
    return new Call(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            const admit = (caller: Identity | undefined): void => {
              if (caller === undefined) return call.sendStatus(new CallError(status.UNAUTHENTICATED, 'Unauthenticated'))
              if (caller.kind === 'anonymous' && !isOpen) return call.sendStatus(accessDenied())
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
}

type Listener = Parameters<ServerInterceptingCall['start']>[0]

/** A call with an empty request, whatever its caller sends. Nothing of it is read. */
class EmptyRequestCall extends ServerInterceptingCall {
  private listener: Listener | undefined
  private isRequestTaken = false

  override start(listener: Listener): void {
    this.listener = listener
    super.start(listener)
  }

  override startRead(): void {
    const wasTaken = this.isRequestTaken
    this.isRequestTaken = true
    if (wasTaken) this.listener?.onReceiveHalfClose()
    else this.listener?.onReceiveMessage(new shared.Empty())
  }
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
