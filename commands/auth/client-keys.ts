import { LRUCache } from 'lru-cache'
import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { checkOutboundUrl } from '../../platform/outbound/addresses.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import type { RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import type { ClientKey } from '../../streams/oauth-client/events.ts'
import { isUsableKey } from './key-strength.ts'

export interface ClientKeys {
  /** The client's key with this id; undefined if it has none, or if its keys cannot be fetched. */
  keyOf(client: Pick<RegisteredOauthClient, 'jwks' | 'jwksUri'>, kid: string): Promise<ClientKey | undefined>
}

export interface ClientKeysOptions {
  readonly egress: Pick<Egress, 'request'>
  readonly configuration: Configuration
  readonly now: () => Date
}

interface FetchedKeys {
  readonly byKid: ReadonlyMap<string, ClientKey>
  readonly fetchedAt: number
  /** The last attempt. Includes failed ones. */
  readonly askedAt: number
}

const cachedMs = 300_000
/** Least time between two reads of an address, after an unknown key id or a failed read. Callers cannot shorten it. */
const askAgainMs = 10_000
const timeoutMs = 5_000
const maxBytes = 65_536
const mostAddresses = 1_000

const KeySet = Type.Object({ keys: Type.Array(Type.Unknown(), { maxItems: 100 }) })
const Use = Type.Object({ use: Type.Optional(Type.Literal('sig')) })

/** Keys of clients: those registered with them, or those at their `jwks_uri`, cached for five minutes. */
export function createClientKeys({ egress, configuration, now }: ClientKeysOptions): ClientKeys {
  const rules = outboundRules(configuration)
  const fetched = new LRUCache<string, FetchedKeys>({ max: mostAddresses })
  const running = new Map<string, Promise<FetchedKeys>>()

  async function keysAt(address: string, kid: string): Promise<FetchedKeys> {
    const known = fetched.get(address)
    if (known !== undefined && known.byKid.has(kid) && isWithin(cachedMs, known.fetchedAt)) return known
    if (known !== undefined && isWithin(askAgainMs, known.askedAt)) return fresh(known)
    const asking = running.get(address) ?? ask(address, known).finally(() => running.delete(address))
    running.set(address, asking)
    return asking
  }

  async function ask(address: string, known: FetchedKeys | undefined): Promise<FetchedKeys> {
    const askedAt = now().getTime()
    const byKid = await fetchKeys(address)
    const result =
      byKid === undefined
        ? { byKid: known?.byKid ?? new Map(), fetchedAt: known?.fetchedAt ?? 0, askedAt }
        : { byKid, fetchedAt: askedAt, askedAt }
    fetched.set(address, result)
    return fresh(result)
  }

  /** Keys of an address that fails are used until their five minutes are over. */
  function fresh(keys: FetchedKeys): FetchedKeys {
    return isWithin(cachedMs, keys.fetchedAt) ? keys : { ...keys, byKid: new Map() }
  }

  /** An instant in the future is none: the clock has gone back since. */
  function isWithin(ms: number, since: number): boolean {
    const ageMs = now().getTime() - since
    return ageMs >= 0 && ageMs < ms
  }

  /** Undefined if the address does not answer with keys. The reason stays here: an answer would probe addresses. */
  async function fetchKeys(address: string): Promise<ReadonlyMap<string, ClientKey> | undefined> {
    if ('refused' in checkOutboundUrl(address, rules)) return undefined
    try {
      const answer = await egress.request(address, {
        purpose: 'client-keys',
        headers: { accept: 'application/jwk-set+json, application/json' },
        timeoutMs,
        maxBytes,
      })
      if (answer.status === 200) return usableKeys(await answer.json())
      await answer.discard()
      return undefined
    } catch (error) {
      if (error instanceof EgressError || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  return {
    async keyOf({ jwks, jwksUri }, kid) {
      if (jwks !== null) return jwks.find((key) => key.kid === kid)
      return jwksUri === null ? undefined : (await keysAt(jwksUri, kid)).byKid.get(kid)
    },
  }
}

/** Keys of other kinds stand beside ours in many sets. They are passed over, and so are weak ones. */
function usableKeys(set: unknown): ReadonlyMap<string, ClientKey> | undefined {
  if (!Check(KeySet, set)) return undefined
  const usable = set.keys.filter(isUsableKey).filter((key) => Check(Use, key))
  return new Map(usable.map((key) => [key.kid, key]))
}
