import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { connectAuditServers } from '../../../app/audit/audit-servers.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { startEmbedded } from '../../../app/embedded.ts'
import { openMasterKeys } from '../../../app/master-keys.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { backupIds, openManifest } from '../../../platform/backup/manifests.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { ensureDatabase } from '../../../platform/database/database.ts'
import { jsonOf } from '../../../platform/kit/json-reading.ts'
import { parsePosition, startOfLog } from '../../../platform/kit/positions.ts'
import { createGracefulStop } from '../../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { platformCommand } from '../../../test/end-to-end/backup/backup-command.ts'
import { checkBackup, lostBackups, objectsIn, type RestoredCopy } from '../checks/backups.ts'
import type { Checked, Fact, Finding } from '../facts.ts'
import { keysOfSubjects } from './left.ts'
import { readWholeLog } from './log-reader.ts'
import { rowsIn, rowsUpTo } from './rebuilt.ts'
import type { Stage } from './stage.ts'

/** So many failed attempts for one backup are more than the strikes explain. */
const mostAttempts = 20
const pauseMs = 300
/** A command needs about a second to begin and another one to end, so a kill may meet any of its steps. */
const killBelowMs = 3_000
const mostOutput = 1_000

export interface BackupsWanted {
  /** Backups over all strikes. */
  readonly count: number
  readonly strikes: number
  readonly seed: number
}

/** Backups that are made while the parts are struck, by the command of an operator, in a process that no strike names. */
export class Backups {
  readonly #stage: Stage
  readonly #wanted: BackupsWanted
  readonly #random: SeededRandom
  readonly #folder: string
  readonly #keys = `torture-1:${randomBytes(32).toString('base64')}`
  readonly #findings: Finding[] = []
  readonly #made: string[] = []
  #running: Promise<void> = Promise.resolve()
  /** Attempts that were killed themselves, and attempts that ended without a backup. */
  readonly attempts = { killed: 0, failed: 0 }

  constructor(stage: Stage, wanted: BackupsWanted) {
    this.#stage = stage
    this.#wanted = wanted
    this.#random = new SeededRandom(wanted.seed)
    this.#folder = join(stage.folder, 'backups')
  }

  /** Begins the backups that are due before this strike, one after another. */
  beside(strike: number, signal: AbortSignal): void {
    const { count, strikes } = this.#wanted
    for (let index = 0; index < count; index += 1)
      if (Math.floor(((index + 0.5) * strikes) / count) === strike) {
        this.#running = this.#running.then(() => this.#create(index % 2 === 0, signal))
        this.#running.catch(() => undefined)
      }
  }

  /** Resolves when all that were begun are made. */
  async made(): Promise<void> {
    await this.#running
  }

  /** Every second one is killed once, and begun again. */
  async #create(isKilledFirst: boolean, signal: AbortSignal): Promise<void> {
    const create = () => this.#run(['backup', 'create', '--to', this.#folder, '--json'])
    if (isKilledFirst) {
      const attempt = create()
      try {
        await sleep(this.#random.below(killBelowMs), undefined, { signal })
      } finally {
        await attempt.kill()
      }
      this.attempts.killed += 1
    }
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted()
      const { code, out, err } = await create().ended
      if (code === 0) return void this.#made.push(textAt(jsonOf(out), 'id'))
      // A strike may fail an attempt, but nothing may damage the place.
      if (code === 1 || attempt === mostAttempts) {
        this.#found(`backup create ended with ${code}`, out + err)
        return
      }
      this.attempts.failed += 1
      await sleep(pauseMs, undefined, { signal })
    }
  }

  /** Restores each backup of the place elsewhere, and compares it with the original, which is quiet. */
  async check(original: readonly Fact[]): Promise<Checked> {
    const ledger = join(this.#stage.folder, 'erasures.jsonl')
    await writeFile(ledger, (await this.#run(['erasures', 'export']).ended).out, { mode: 0o600 })
    const ids = await backupIds(folderPlace(this.#folder))
    const findings: Finding[] = []
    let [events, objects] = [0, 0]
    for (const [index, id] of ids.entries()) {
      const copy = await this.#restored(id, index, ledger)
      if (copy === undefined) continue
      findings.push(...checkBackup(copy, original))
      events += copy.log.length
      objects += copy.objects.size
    }
    const { killed, failed } = this.attempts
    return {
      check: `backups restored (${events} events, ${objects} objects; attempts: ${killed} killed, ${failed} failed by strikes)`,
      examined: ids.length,
      findings: [...this.#findings, ...lostBackups(this.#made, ids), ...findings],
    }
  }

  async #restored(id: string, index: number, ledger: string): Promise<RestoredCopy | undefined> {
    const stage = this.#stage
    const { manifest } = await openManifest(folderPlace(this.#folder), readBackupKeys(this.#keys), id)
    const position = manifest.position ?? ''
    const to = join(stage.folder, `restored-${index}`)
    // Servers of its own, but for Postgres.
    const [url, vaultUrl] = [stage.databaseUrl(`restored_${index}`), stage.databaseUrl(`restored_vault_${index}`)]
    const env = { DATABASE_URL: url, VAULT_DATABASE_URL: vaultUrl, PLATFORM_DATA_DIR: to }
    await ensureDatabase(vaultUrl)
    const args = ['--from', this.#folder, '--backup', id, '--to', to, '--erasures', ledger, '--json']
    const nothing = Object.fromEntries(Object.keys(stage.settings).map((name) => [name, '']))
    const { code, out, err } = await this.#run(['backup', 'restore', ...args], { ...nothing, ...env }).ended
    const proof = at(jsonOf(out), 'proof')
    if (proof === undefined) {
      this.#found(`backup restore ended with ${code}`, `backup ${id}: ${out}${err}`)
      return undefined
    }
    return {
      id,
      position,
      faults: [at(proof, 'faults'), at(proof, 'keys_missing')].flat().map(String),
      rows: await rowsIn(url),
      rebuilt: await rowsUpTo(stage, `rebuilt_${index}`, parsePosition(position) ?? startOfLog),
      keys: await keysOfSubjects(vaultUrl),
      ...(await logAndObjects(env)),
    }
  }

  #run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { settings, esdbUrl } = this.#stage
    return platformCommand(args, { ...settings, ESDB_URL: esdbUrl, BACKUP_KEYS: this.#keys, ...env })
  }

  #found(what: string, where: string): void {
    this.#findings.push({ what, where: where.slice(-mostOutput) })
  }
}

/** Starts the servers of a restored data folder, and no role. */
async function logAndObjects(env: Readonly<Record<string, string>>): Promise<Pick<RestoredCopy, 'log' | 'objects'>> {
  const logger = createLogger({ level: 'silent' })
  const stop = createGracefulStop({ logger })
  try {
    const configuration = loadConfiguration(env)
    const { environment } = await startEmbedded(configuration, { logger, stop, onLost: () => undefined })
    const found = loadConfiguration({ ...env, ...environment })
    const log = await readWholeLog(found.esdbUrl ?? '', 'forwards')
    const servers = await connectAuditServers(found, await openMasterKeys(configuration))
    try {
      const objects = new Map<string, string>()
      for (const { key } of log.flatMap(({ data }) => objectsIn(data))) {
        const hash = createHash('sha256')
        const object = objects.has(key) ? undefined : await servers.objects.read(key)
        if (object === undefined) continue
        for await (const bytes of object.chunks) hash.update(bytes)
        objects.set(key, hash.digest('hex'))
      }
      return { log, objects }
    } finally {
      await servers.close()
    }
  } finally {
    await stop.stop()
  }
}
