import type { IdentityProvider } from '../../contracts/users/identity-provider.ts'
import type { Provider } from '../../processes/adapters/provider.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { outsideSystems, type OutsideCalls, type OutsideSystem } from '../../platform/outbound/outside-calls.ts'
import { repeat, type Repeating } from './repeating.ts'

/** A call that changes nothing. Its outcome counts as that of any other call. */
type Probe = (signal: AbortSignal) => Promise<unknown>
export type SystemProbes = { readonly [System in OutsideSystem]?: Probe | undefined }

/** In milliseconds. A probe without an answer has failed then. */
const probeLimitMs = 1_500
const graceMs = 500
const everyMs = 1_000
/** A call that waits so long for its answer is a reason to look. In milliseconds. */
const silenceMs = 2_000

/**
 * Calls the systems that did not answer the last call. Otherwise a system that came back would count as failing until
 * the next piece of work needs it, and one that hangs would look well until its callers give up. A probe cannot show
 * that a system again does what it refused, so only the next real call does.
 */
export function probeSystems(options: {
  readonly calls: OutsideCalls
  readonly probes: SystemProbes
  readonly logger: Logger
}): Repeating {
  const { calls, probes, logger } = options
  const probe = async (signal: AbortSignal): Promise<void> => {
    const running = outsideSystems.map(async (system) => {
      const call = probes[system]
      if (call === undefined || !calls.isSuspect(system, silenceMs)) return
      const limit = AbortSignal.any([signal, AbortSignal.timeout(probeLimitMs)])
      // A system that ignores the signal must not hold up the probes of the others, or a stop.
      await limited(probeLimitMs + graceMs, call(limit)).catch(() => undefined)
    })
    await Promise.all(running)
  }
  return repeat({ everyMs, work: probe, logger, component: 'system probes' })
}

/** No account has it. The identity provider looks it up with our credentials. */
const unknownUser = '00000000-0000-4000-8000-000000000000'
const missingObject = 'health'

/** Each process probes the systems that it calls itself. */
export function systemProbes({
  objects,
  processor,
  identityProvider,
}: {
  readonly objects: Pick<ObjectStore, 'head'> | undefined
  readonly processor:
    | {
        readonly provider: Pick<Provider, 'identify'>
        readonly senders: Readonly<Record<'mails' | 'chats', { isReachable(signal: AbortSignal): Promise<boolean> }>>
      }
    | undefined
  readonly identityProvider: Pick<IdentityProvider, 'get'> | undefined
}): SystemProbes {
  return {
    object_store: objects && ((signal) => objects.head(missingObject, signal)),
    identity_provider: identityProvider && ((signal) => identityProvider.get(unknownUser, signal)),
    provider: processor && ((signal) => processor.provider.identify(signal)),
    mail: processor && ((signal) => processor.senders.mails.isReachable(signal)),
    chat: processor && ((signal) => processor.senders.chats.isReachable(signal)),
  }
}
