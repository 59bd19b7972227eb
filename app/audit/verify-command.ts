import { logKeys } from '../../contracts/audit/log-keys.ts'
import { tileReader } from '../../contracts/audit/log-objects.ts'
import { logName, sealedPartOf, type LogRecord } from '../../contracts/audit/log-record.ts'
import { logSealsOf } from '../../contracts/audit/log-seals.ts'
import { isOwnStream, mayLoseEvents } from '../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { comparePositions, parsePosition, startOfLog, type Position } from '../../platform/kit/positions.ts'
import { Witness } from '../../processes/adapters/witness.ts'
import { readNewestRecord } from '../../processes/sealing/log-writer.ts'
import { logSealStream } from '../../streams/log-seals/aggregate.ts'
import { newId } from '../../platform/kit/new-id.ts'
import { operatorAccount } from '../operator-account.ts'
import { recordAction } from '../operations/record-action.ts'
import { openAuditServers, type AuditServers } from './audit-servers.ts'
import type { VerifyOrder } from './orders.ts'
import { readKey } from './read-key.ts'
import type { StoredSeal } from './seal-check.ts'
import { sealOfStored } from './stored-seals.ts'
import { verifyLog, type Verification, type WitnessToAsk } from './verify-log.ts'

const witnessMs = 5_000

/**
 * Verifies the log of the environment's servers, or of a `platform up` that runs on the data folder.
 * @param say receives why operators will not see the result
 */
export async function verifyConfiguredLog(
  env: Environment,
  order: VerifyOrder,
  say: (line: string) => void,
): Promise<Verification> {
  const servers = await openAuditServers(env)
  try {
    return await verifyAndRecord(servers, order, say)
  } finally {
    await servers.close()
  }
}

/** An event store that takes no writes must not cost the result, which may have taken hours. */
export async function verifyAndRecord(
  servers: AuditServers,
  order: VerifyOrder,
  say: (line: string) => void,
): Promise<Verification> {
  const verification = await verifyServers(servers, order)
  await recordVerification(servers, verification).catch((error: unknown) =>
    say(`the result is not recorded: ${error instanceof Error ? error.message : String(error)}`),
  )
  return verification
}

/** Operators see how the newest one ended, in every process. */
async function recordVerification({ store }: AuditServers, { size, faults }: Verification): Promise<void> {
  const [actionId, commandId] = [newId(), newId()]
  await recordAction(
    store,
    {
      actionId,
      action: 'log.verify',
      actor: { kind: 'command', id: operatorAccount() },
      subject: { kind: 'sealed_log', id: String(size) },
      reason: null,
      count: faults.length,
      retried: null,
      projection: null,
      at: new Date().toISOString(),
    },
    { commandId, correlationId: commandId, clientId: 'platform' },
  )
}

export async function verifyServers(servers: AuditServers, order: VerifyOrder): Promise<Verification> {
  const { store, vault, objects, configuration } = servers
  const first = await readNewestRecord(servers)
  if (first === undefined) throw new Error('nothing is sealed yet')
  // Who signs later than this is not ahead of what is compared with it.
  const witnesses = await askWitnesses(servers, logName(first), order)
  const record = (await readNewestRecord(servers)) ?? first
  const part = sealedPartOf(record)
  const from = order.from ?? 0
  const after = from === 0 ? startOfLog : await positionOf(store, from, record)
  const end = await store.head({ streamPrefixes: [] })
  const keys = order.key === undefined ? await logKeys(vault, record.origin) : [readKey('--key', order.key)]
  const verification = await verifyLog({
    events: () => eventsUpTo(store, after, end),
    seals: sealsOf(store),
    readTile: tileReader(objects, record.generation),
    generation: record.generation,
    sealed: part.checkpoint === undefined ? undefined : { checkpoint: part.checkpoint, position: part.position },
    from,
    keys,
    hasOneKey: order.key !== undefined,
    witnesses,
    isSigned: (event) => store.isSigned(event),
    isOwn: isOwnStream,
    mayLoseEvents: (stream) =>
      mayLoseEvents(
        stream,
        configuration.foreignChannels.map(({ name }) => name),
      ),
  })
  const silent = verification.witnesses.find(({ size }) => size === null)
  if (order.witnesses.length > 0 && silent !== undefined && verification.faults.length === 0)
    throw new Error(`the witness ${silent.name} does not answer, and has signed no recorded seal`)
  return verification
}

/** The log up to an event that was there before. @throws Error if the event store ends early */
async function* eventsUpTo(store: EventStore, after: Position, end: Position): AsyncGenerator<StoredBytes> {
  let last = after
  for await (const event of store.readStoredLog({ after })) {
    yield event
    last = event.position
    if (comparePositions(last, end) >= 0) return
  }
  if (comparePositions(last, end) < 0) throw new Error('the event store ended the read of its log early: try again')
}

async function* sealsOf(store: EventStore): AsyncGenerator<StoredSeal> {
  const range = { from: 'start', direction: 'forwards', limit: Number.MAX_SAFE_INTEGER } as const
  for await (const stored of store.readUnsigned(logSealStream.stream, range)) {
    const { id, type, streamId: stream, revision, position = startOfLog, created, dataBytes, metadataBytes } = stored
    const event = { id, type, stream, revision, position, created, dataBytes, metadataBytes }
    yield sealOfStored(event, await store.isSigned(event))
  }
}

/** Position of the last event that a seal of that size covers. */
async function positionOf(store: EventStore, size: number, record: LogRecord): Promise<Position> {
  for await (const seal of logSealsOf(store, { direction: 'backwards' })) {
    if (seal.type === 'OlderLogAccepted') break
    if (seal.type !== 'LogSealed' || seal.data.size !== size) continue
    const position = parsePosition(seal.data.position)
    if (position !== undefined) return position
  }
  throw new ConfigurationError(`--from must be the size of a seal of ${logName(record)}`)
}

/** The witnesses of the order, else those of the configuration. Only the latter have addresses. */
async function askWitnesses(
  { configuration, egress }: AuditServers,
  name: string,
  order: VerifyOrder,
): Promise<readonly WitnessToAsk[]> {
  const wanted = order.witnesses.map((vkey) => readKey('--witness', vkey))
  const known = configuration.witnesses.map((address) => new Witness(egress, address))
  const keys = wanted.length > 0 ? wanted : known.map(({ key }) => key)
  return Promise.all(
    keys.map(async (key) => {
      const witness = known.find((each) => each.key.name === key.name && each.key.id === key.id)
      return { key, newest: await witness?.newest(name, AbortSignal.timeout(witnessMs)) }
    }),
  )
}

/** What a person reads. */
export function verificationText({ size, events, truncated, faults, witnesses }: Verification): string {
  const count = (number: number) => number.toLocaleString('en')
  const lines = [
    `${count(events)} events were read, ${count(size)} of them are sealed.`,
    ...(truncated === 0 ? [] : [`${count(truncated)} sealed events were dropped by the rules of their streams.`]),
    ...witnesses.map(({ name, size: signed, at }) =>
      signed === null
        ? `The witness ${name} has signed nothing that is known here.`
        : `The witness ${name} signed ${count(signed)} events at ${at}.`,
    ),
    ...faults.map(
      ({ kind, position, stream, event_id: id, detail }) =>
        `FAULT ${kind} at ${position ?? 'an unknown position'}${stream === null ? '' : ` in ${stream}`}${id === null ? '' : ` (${id})`}: ${detail}`,
    ),
    faults.length === 0 ? 'Nothing was changed, removed, added or moved.' : `${count(faults.length)} faults.`,
  ]
  return lines.join('\n')
}
