import { isOwnStream } from '../../contracts/audit/sealed-events.ts'
import { createWritePool } from '../../engine/projections/batch-writer.ts'
import { ProjectionRunner } from '../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { verify, type VerifyOutcome } from '../../engine/rebuild/rebuild.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { isJsonObject } from '../../engine/store/events.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { isSealed } from '../../engine/store/phi-encryption.ts'
import { keyOrganisationOf } from '../../engine/store/schema.ts'
import { createPool, ensureDatabase } from '../../platform/database/database.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { MissingKeyError } from '../../platform/kit/key-vault.ts'
import { formatPosition, startOfLog } from '../../platform/kit/positions.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { createWebhookSignatures } from '../../processes/adapters/webhook-signatures.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import { differenceText, unableText } from '../projections/comparison-text.ts'
import { knownProjectors } from '../projections/known-projectors.ts'
import { projectedStreams } from '../projections/projected-streams.ts'
import { skippedIn } from '../projections/skip.ts'

/** What a restored copy was found to be. */
export interface RestoreProof {
  /** Events of the log, with those that the restore has appended. */
  readonly events: number
  /** Read models and to-do lists that were filled twice, with the same rows. */
  readonly equal: number
  /** What needs a secret that the vault does not have, and why. */
  readonly keys_missing: readonly string[]
  /** Events that this installation did not sign, and read models whose two fillings differ. */
  readonly faults: readonly string[]
}

/** Of each kind: what is named may be a part. */
const mostNamed = 100
/** In milliseconds. Filling and comparing a large read model takes long statements. */
const statementTimeoutMs = 3_600_000
const batchSubjects = 1_000

/**
 * Verifies the signature of each restored event, fills all read models, fills each one again and compares, and looks for
 * secrets that are gone. Calls no other system.
 */
export async function proveRestore(
  { store, vault }: { readonly store: EventStore; readonly vault: Vault },
  databaseUrl: string,
  signal: AbortSignal,
): Promise<RestoreProof> {
  const read = await readEvents(store, vault)
  const missing = [...read.subjects, ...(await webhooksWithoutSecret(store, vault, read.webhookStreams))]
  const outcomes = await fillAndCompare(store, databaseUrl, signal)
  return {
    events: read.events,
    equal: outcomes.filter(({ kind }) => kind === 'equal').length,
    keys_missing: missing,
    faults: [...read.unsigned, ...outcomes.flatMap(faultOf)].slice(0, mostNamed),
  }
}

async function readEvents(store: EventStore, vault: Vault) {
  const unsigned: string[] = []
  const webhookStreams = new Set<string>()
  const subjects: string[] = []
  const waiting = new Set<string>()
  let events = 0
  const look = async (): Promise<void> => {
    const absent = await vault.absentSubjects([...waiting])
    for (const id of absent.slice(0, mostNamed - subjects.length)) subjects.push(`the personal content of ${id}`)
    waiting.clear()
  }
  for await (const event of store.readStoredLog({ after: startOfLog })) {
    events += 1
    const { stream, type, position } = event
    if (!isOwnStream(stream)) continue
    if (!(await store.isSigned(event))) {
      if (unsigned.length < mostNamed)
        unsigned.push(`${type} at ${formatPosition(position)} in ${stream} is not signed`)
      continue
    }
    if (stream.startsWith(`${webhookSubscriptions.category}-`)) webhookStreams.add(stream)
    const subject = sealedSubjectOf(event)
    if (subject !== undefined) waiting.add(subject)
    if (waiting.size >= batchSubjects) await look()
  }
  await look()
  return { events, unsigned, webhookStreams, subjects }
}

/** The subject of whose key members of the event need, `<organisation>/<subject>`. Undefined if none is sealed. */
function sealedSubjectOf({ type, dataBytes, metadataBytes }: StoredBytes): string | undefined {
  const definition = catalogue.entry(type)?.definition
  if (definition?.subject === undefined || !Buffer.from(dataBytes).includes('"$phi"')) return undefined
  const [data, metadata] = [dataBytes, metadataBytes].map((bytes) => jsonOf(Buffer.from(bytes).toString()))
  if (!isJsonObject(data) || !isJsonObject(metadata) || !Object.values(data).some(isSealed)) return undefined
  const orgId = keyOrganisationOf(definition, textIn(metadata['orgId']), data)
  const subjectId = textIn(data[definition.subject])
  return orgId === undefined || subjectId === undefined ? undefined : `${orgId}/${subjectId}`
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Subscriptions whose deliveries nobody can sign: they wait until the secret is rotated. */
async function webhooksWithoutSecret(store: EventStore, vault: Vault, streams: ReadonlySet<string>): Promise<string[]> {
  const signatures = createWebhookSignatures(vault)
  const named: string[] = []
  for (const stream of streams) {
    const { state } = await store.load({ fold: webhookSubscriptions, stream })
    for (const [id, subscription] of state.subscriptions) {
      try {
        await signatures.signerOf(subscription, new Date())
      } catch (error) {
        if (!(error instanceof MissingKeyError)) throw error
        const rotation = `keys rotate webhook --org ${subscription.organisationId} --endpoint ${id} --grace-seconds 0`
        if (named.length < mostNamed) named.push(`the deliveries of webhook ${id}, until ${rotation}`)
      }
    }
  }
  return named
}

async function fillAndCompare(
  eventStore: EventStore,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<readonly VerifyOutcome[]> {
  const logger = createLogger({ level: 'silent' })
  await ensureDatabase(databaseUrl)
  const pool = createPool({ url: databaseUrl, max: 8, statementTimeoutMs, name: 'platform restore', logger })
  const writePool = createWritePool({ url: databaseUrl, logger })
  try {
    await ensureRuntimeSchema(pool)
    const parts = {
      eventStore,
      pool,
      logger,
      filter: { streamPrefixes: projectedStreams },
      skips: skippedIn(eventStore),
    }
    const runner = new ProjectionRunner({ ...parts, writePool, projectors: knownProjectors })
    runner.start()
    try {
      await runner.caughtUp()
    } finally {
      await runner.close()
    }
    return await verify({ ...parts, signal }, knownProjectors)
  } finally {
    await writePool.end()
    await pool.end()
  }
}

function faultOf(outcome: VerifyOutcome): string[] {
  if (outcome.kind === 'equal') return []
  if (!('comparison' in outcome)) return [unableText(outcome)]
  const { difference } = outcome.comparison
  return [`${outcome.name}: ${difference === undefined ? 'differs' : differenceText(difference)}`]
}
