import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../embedded/children/free-port.ts'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient } from '../../../test/support/raw-api.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { consentedPatient, createConsentTerms } from '../../../test/support/main-job.ts'
import { clientOf } from '../../../test/support/platform.ts'
import { startServers, type Servers, type ServersOptions } from './servers.ts'

/** A platform in one process. Each server that it needs has its own process behind a proxy line. */
export interface Stage {
  readonly servers: Servers
  readonly platform: PlatformProcess
  readonly baseUrl: string
  /** A patient with a consent. */
  readonly patientId: string
  /** Returns a client with a new token. */
  connect(): Promise<ApiClient>
  close(): Promise<void>
}

export interface StageOptions extends ServersOptions {
  /** Variables of the platform's process. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Schedules of the main job are short, so that each run sees its end. Everything that answers callers has its default.
 */
const schedules = {
  LOG_LEVEL: 'warn',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '200',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '500,1000,2000',
  BASE_URL: '',
  ESDB_URL: '',
}

/** An event store of the operator, which all faults of a run share. Its events need one vault, so one folder. */
export interface LastingStore {
  readonly url: string
  readonly dataDir: string
  /** Set by the first stage. */
  patientId?: string
}

export async function openStage({ env = {}, ...ofServers }: StageOptions = {}, lasting?: LastingStore): Promise<Stage> {
  const dataDir = lasting?.dataDir ?? (await mkdtemp(join(tmpdir(), 'faults-')))
  const ofStore = lasting === undefined ? {} : { eventStoreUrl: lasting.url }
  const servers = await startServers(dataDir, { ...ofServers, ...ofStore })
  let platform: PlatformProcess | undefined
  const close = async () => {
    await platform?.stop()
    await servers.close()
    if (lasting === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const running = await startPlatformProcess(join(dataDir, 'platform'), {
      ...schedules,
      PORT: String(await freePort()),
      ...servers.env,
      ...env,
    })
    platform = running
    const baseUrl = running.credentials.base_url
    const connect = async () =>
      createApiClient(baseUrl, textAt((await requestToken(baseUrl, clientOf(running, 0))).body, 'access_token'))
    const api = await connect()
    const patientId =
      lasting?.patientId ?? (await consentedPatient(api, await createConsentTerms(api, running.credentials.org_id)))
    if (lasting !== undefined) lasting.patientId = patientId
    return { servers, platform: running, baseUrl, patientId, connect, close }
  } catch (error) {
    await close()
    throw error
  }
}
