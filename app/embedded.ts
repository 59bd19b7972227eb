import { join } from 'node:path'
import { freePort } from '../embedded/children/free-port.ts'
import { lastingSettings } from '../embedded/children/lasting-ports.ts'
import { objectStore } from '../embedded/object-store/start-object-store.ts'
import { startPostgres } from '../embedded/postgres/start-postgres.ts'
import { provider } from '../embedded/provider/start-provider.ts'
import { receivers } from '../embedded/receivers/start-receivers.ts'
import { namesOf, startStandIns, type StandIn } from '../embedded/stand-ins/start-stand-ins.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { startEmbeddedEventStore, warnOfUnusedConsumers } from './embedded-event-store.ts'

/** Settings of the embedded servers, under the names of environment variables. */
type EmbeddedEnvironment = Readonly<Record<string, string>>

export interface Embedded {
  readonly environment: EmbeddedEnvironment
  readonly standIns: StandIns
}

/** What `credentials.json` names of the embedded stand-ins. */
export interface StandIns {
  /** Of the remote controls of the provider simulator, the mail box and the chat receiver. */
  readonly controlSecret: string | null
  readonly mailboxUrl: string | null
  readonly chatUrl: string | null
}

interface Server {
  readonly exited: Promise<unknown>
  stop(): Promise<void>
}

/** Called if an embedded server ended unexpectedly. */
export type OnServerLost = (name: string) => void

const accessKeyId = 'embedded'
const embeddedSender = 'Clinical Assessment Platform <no-reply@platform.example>'

/**
 * Starts an embedded server for everything that the environment does not name, on the data folder. The first start
 * chooses ports and secrets. Later starts use the same ones, because signed addresses in events contain them.
 */
export async function startEmbedded(
  configuration: Configuration,
  { logger, stop, onLost }: { readonly logger: Logger; readonly stop: GracefulStop; readonly onLost: OnServerLost },
): Promise<Embedded> {
  const { dataDir, profile } = configuration
  const { ports, secrets } = await lastingSettings(dataDir, {
    ports: ['eventstore', 'postgres', 'object_store', 'provider', 'receivers', 'smtp'],
    secrets: [
      'eventstore',
      'postgres',
      'postgres_platform',
      'postgres_vault',
      'object_store',
      'provider',
      'provider_control',
      'smtp',
      'chat_bot',
      'received_messages',
      'admin_api',
    ],
  })
  const onLog = () => logger.debug({ component: 'embedded' }, 'output of an embedded server')

  async function eventStore(): Promise<EmbeddedEnvironment> {
    if (configuration.esdbUrl !== undefined) {
      warnOfUnusedConsumers(configuration, logger)
      return {}
    }
    const node = await startEmbeddedEventStore({
      configuration,
      port: ports.eventstore,
      password: secrets.eventstore,
    })
    watch('event store', node)
    return { ESDB_URL: node.url }
  }

  async function postgres(): Promise<EmbeddedEnvironment> {
    if (configuration.databaseUrl !== undefined && configuration.vaultDatabaseUrl !== undefined) return {}
    const server = await startPostgres({
      dataDir: join(dataDir, 'postgres'),
      port: ports.postgres,
      password: secrets.postgres,
      databases: ['platform', 'vault'],
      rolePasswords: { platform: secrets.postgres_platform, vault: secrets.postgres_vault },
      onLog,
    })
    watch('postgres', server)
    return {
      DATABASE_URL: configuration.databaseUrl ?? server.url('platform'),
      VAULT_DATABASE_URL: configuration.vaultDatabaseUrl ?? server.url('vault'),
    }
  }

  const inOneProcess: StandIn<unknown>[] = []
  /** Adds a server to those of one process. Returns its addresses. */
  function beside<Addresses>(standIn: StandIn<Addresses>): Addresses {
    inOneProcess.push(standIn)
    return standIn.at(standIn.port)
  }

  function objects(): EmbeddedEnvironment {
    if (configuration.s3Endpoint !== undefined) return {}
    const store = objectStore({
      dataDir: join(dataDir, 'object-store'),
      port: ports.object_store,
      accessKeyId,
      secretAccessKey: secrets.object_store,
      bucket: configuration.s3Bucket,
      origins: configuration.corsOrigins,
    })
    const { endpoint } = beside(store)
    return { S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secrets.object_store }
  }

  function simulator(): EmbeddedEnvironment {
    if (configuration.providerBaseUrl !== undefined) return {}
    const login = configuration.providerLogin ?? 'platform'
    const password = configuration.providerPassword ?? secrets.provider
    const { url } = beside(
      provider({
        dataDir: join(dataDir, 'provider'),
        port: ports.provider,
        login,
        password,
        controlSecret: secrets.provider_control,
      }),
    )
    return { PROVIDER_BASE_URL: url, PROVIDER_LOGIN: login, PROVIDER_PASSWORD: password }
  }

  const needsMailBox = configuration.mailTransport === 'smtp' && configuration.smtpUrl === undefined
  // The embedded receiver would hide that messages reach nobody.
  const needsChat = configuration.slackApiUrl === undefined && profile === 'development'
  const received =
    needsMailBox || needsChat
      ? beside(
          receivers({
            dataDir: join(dataDir, 'receivers'),
            port: ports.receivers,
            smtpPort: ports.smtp,
            smtpPassword: secrets.smtp,
            botToken: secrets.chat_bot,
            readSecret: secrets.received_messages,
            controlSecret: secrets.provider_control,
          }),
        )
      : undefined
  const settings = {
    ...objects(),
    ...simulator(),
    ...(needsMailBox && received !== undefined ? { SMTP_URL: received.smtpUrl, SMTP_FROM: embeddedSender } : {}),
    ...(needsChat && received !== undefined
      ? { SLACK_API_URL: received.slackApiUrl, SLACK_BOT_TOKEN: secrets.chat_bot }
      : {}),
  }

  async function standIns(): Promise<EmbeddedEnvironment> {
    if (inOneProcess.length > 0) {
      const server = await startStandIns(inOneProcess, { onLog })
      watch(namesOf(inOneProcess), server)
    }
    return settings
  }

  function watch(name: string, server: Server): void {
    stop.onStop('servers', name, () => server.stop())
    void server.exited.then(() => {
      if (!stop.isStopping) onLost(name)
    })
  }

  const started = await Promise.all([eventStore(), postgres(), standIns()])
  const port = configuration.port === 0 ? await freePort() : configuration.port
  // In production the administrators are users, unless the operator sets a secret.
  const adminSecret = configuration.profile === 'development' ? { ADMIN_API_SECRET: secrets.admin_api } : {}
  return {
    environment: Object.assign({ ...adminSecret, PORT: String(port) }, ...started),
    standIns: {
      controlSecret:
        configuration.providerBaseUrl === undefined || needsMailBox || needsChat ? secrets.provider_control : null,
      mailboxUrl: needsMailBox ? (received?.mailboxUrl ?? null) : null,
      chatUrl: needsChat ? (received?.chatUrl ?? null) : null,
    },
  }
}
