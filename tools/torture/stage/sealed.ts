import { verifyServers } from '../../../app/audit/verify-command.ts'
import { openAuditServers, type AuditServers } from '../../../app/audit/audit-servers.ts'
import { tileReader } from '../../../contracts/audit/log-objects.ts'
import { sealedPartOf } from '../../../contracts/audit/log-record.ts'
import { logSealsOf } from '../../../contracts/audit/log-seals.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import { waitFor } from '../../../test/support/platform.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { isConsistent } from '../../../platform/transparency-log/merkle.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { readNewestRecord } from '../../../processes/sealing/log-writer.ts'
import type { Checked, Fact, Finding } from '../facts.ts'
import type { Stage } from './stage.ts'

/** Time that the sealing may need after a kill of everything. */
const sealingMs = 60_000

/** Seals went on after the strikes, the log verifies clean, and each checkpoint is the beginning of the newest one. */
export async function checkSeals(
  stage: Pick<Stage, 'settings' | 'esdbUrl'>,
  log: readonly Fact[],
  waitMs = sealingMs,
): Promise<Checked> {
  const servers = await openAuditServers({ ...stage.settings, ESDB_URL: stage.esdbUrl })
  try {
    const events = log.filter(({ stream }) => !stream.startsWith('$') && isSealedStream(stream)).length
    const newest = await waitFor(
      'a seal of all events',
      async () => {
        const sealed = await newestOf(servers)
        return sealed !== undefined && sealed.size >= events ? sealed : undefined
      },
      waitMs,
    ).catch(() => newestOf(servers))
    if (newest === undefined || newest.size < events) {
      const what = `the newest seal covers ${newest?.size ?? 0} of ${events} events`
      return { check: 'sealed log', examined: events, findings: [{ what, where: 'log_seals' }] }
    }
    const order = { isJson: false, from: undefined, key: undefined, witnesses: [] }
    const { faults } = await verifyServers(servers, order)
    const found = faults.map(({ kind, detail, position, stream, event_id: id }) => ({
      what: `${kind}: ${detail}`,
      where: `${stream ?? ''} ${id ?? ''} at ${position ?? 'an unknown position'}`,
    }))
    const { seals, findings } = await consistencyOf(servers, newest)
    return {
      check: `sealed log: ${seals} checkpoints, and every event as it was sealed`,
      examined: newest.size,
      findings: [...found, ...findings],
    }
  } finally {
    await servers.close()
  }
}

async function newestOf(servers: AuditServers): Promise<SignedCheckpoint | undefined> {
  const record = await readNewestRecord(servers)
  return record === undefined ? undefined : sealedPartOf(record).checkpoint
}

async function consistencyOf({ store, objects }: AuditServers, newest: SignedCheckpoint) {
  const tree = new TileTree(newest.size, tileReader(objects, 1))
  const findings: Finding[] = []
  let seals = 0
  for await (const seal of logSealsOf(store)) {
    if (seal.type !== 'LogSealed') continue
    const older = parseCheckpoint(seal.data.checkpoint)
    if (older.size > newest.size) break
    seals += 1
    if (!isConsistent(older, newest, await tree.consistencyProof(older.size)))
      findings.push({ what: `the checkpoint of ${older.size} is not the beginning of the newest`, where: 'log_seals' })
  }
  return { seals, findings }
}
