import type { Egress } from '../outbound/egress.ts'
import { EgressError } from '../outbound/egress-error.ts'
import { masterKeyEntries, MasterKeyError, wrappedKeyIn } from './master-keys.ts'

/** The transit engine of HashiCorp Vault or OpenBao: `<url>/decrypt/<key>`, `<url>/datakey/wrapped/<key>`. */
export interface TransitSettings {
  readonly url: string
  readonly key: string
  readonly token: string
}

const timeoutMs = 10_000
const maxBytes = 65_536
const keyBits = 256

/**
 * A key ring whose wrapped entries are unwrapped. Entries with the key itself stay, so that a ring can move to the engine
 * key by key; the first one must be wrapped.
 * @throws MasterKeyError with a reason for the operator, without a secret
 */
export async function unwrapMasterKeys(text: string, transit: TransitSettings, egress: Egress): Promise<string> {
  const entries = masterKeyEntries(text)
  const [first = ''] = entries
  if (wrappedKeyIn(first) === undefined)
    throw new MasterKeyError(
      'the first master key is not wrapped by the transit engine: "keys new-master --id ID" makes one that is',
    )
  const unwrapped = await Promise.all(
    entries.map(async (entry) => {
      const wrapped = wrappedKeyIn(entry)
      if (wrapped === undefined) return entry
      const { id, ciphertext } = wrapped
      const answer = await ask(egress, transit, `decrypt/${transit.key}`, { ciphertext }, `unwrap master key ${id}`)
      return `${id}:${memberOf(answer, 'plaintext')}`
    }),
  )
  return unwrapped.join(',')
}

/** A new master key that the engine makes and wraps, as an entry of a key ring. Only the engine has seen the key. */
export async function wrappedMasterKey(id: string, transit: TransitSettings, egress: Egress): Promise<string> {
  const answer = await ask(egress, transit, `datakey/wrapped/${transit.key}`, { bits: keyBits }, 'make a master key')
  const entry = `${id}:${memberOf(answer, 'ciphertext')}`
  if (wrappedKeyIn(entry) === undefined)
    throw new MasterKeyError(`${engine} answers with a wrapped key of unknown form`)
  return entry
}

const engine = 'the transit engine of TRANSIT_URL'

async function ask(
  egress: Egress,
  { url, token }: TransitSettings,
  path: string,
  body: object,
  purpose: string,
): Promise<unknown> {
  try {
    const response = await egress.request(`${url.replace(/\/+$/, '')}/${path}`, {
      purpose: 'master-key',
      method: 'POST',
      headers: { 'x-vault-token': token, 'x-vault-request': 'true', 'content-type': 'application/json' },
      body: JSON.stringify(body),
      timeoutMs,
      maxBytes,
    })
    if (response.status === 200) return await response.json()
    await response.discard()
    throw new MasterKeyError(`${engine} does not ${purpose}: it answers ${response.status}${hintOf(response.status)}`)
  } catch (error) {
    if (error instanceof MasterKeyError) throw error
    const reason =
      error instanceof EgressError ? `does not answer (${error.code})` : 'answers with something else than JSON'
    throw new MasterKeyError(`${engine} ${reason}, so it does not ${purpose}`, { cause: error })
  }
}

function hintOf(status: number): string {
  if (status === 400) return '. TRANSIT_KEY is another key, or the wrapped key was changed'
  if (status === 403) return '. TRANSIT_TOKEN has ended or lacks the right'
  if (status === 404) return '. TRANSIT_URL leads to no transit engine'
  return status === 503 ? '. It is sealed' : ''
}

function memberOf(answer: unknown, name: 'plaintext' | 'ciphertext'): string {
  if (typeof answer === 'object' && answer !== null && 'data' in answer) {
    const { data } = answer
    if (typeof data === 'object' && data !== null && name in data) {
      const value: unknown = Reflect.get(data, name)
      if (typeof value === 'string') return value
    }
  }
  throw new MasterKeyError(`${engine} answers without ${name}`)
}
