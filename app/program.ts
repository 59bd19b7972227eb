import { flushCompileCache } from 'node:module'
import { tolerateClosedOutput } from '../embedded/children/parent-watch.ts'
import { loadConfiguration, type Configuration } from '../platform/configuration/configuration.ts'
import { createGracefulStop, stopSignals, type GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import { createLogger, type Logger } from '../platform/observability/logging.ts'
import type { AdministratorOrder, ClientOrder, OperatorOrder } from './client-orders.ts'
import { readCommand, wholeProgram, type RejectedEventsOrder } from './command-line.ts'
import { completionOf, type Shell } from './completion.ts'
import type { AuditOrder } from './audit/orders.ts'
import type { KeysOrder } from './keys/orders.ts'
import type { DoctorOrder } from './operations/doctor.ts'
import type { StatusOrder } from './operations/status-command.ts'
import type { WorkOrder } from './operations/work-orders.ts'
import type { BackupOrder } from './backup/orders.ts'
import type { ProjectionsOrder } from './projections/orders.ts'
import { needsOfPeople, requireVariables, serverNeeds, type Role } from './roles.ts'
import type { VerifyReceiptOrder } from './verify-receipt.ts'
import type { WitnessOrder } from './witness/start-witness.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'

// Each command loads only its own modules. So `projections list` does not wait for a web server to load.

export async function runProgram(args: readonly string[]): Promise<void> {
  const command = await readCommand(args)
  switch (command.name) {
    case 'up':
      return orExit(() => live(startUp))
    case 'serve':
      return orExit(() => live((surroundings) => startServe(command.order.roles, surroundings)))
    case 'register-client':
      return orExit(() => register(command.order))
    case 'create-administrator':
      return orExit(() => createAdministrator(command.order))
    case 'create-operator':
      return orExit(() => createOperator(command.order))
    case 'keys':
      return orExit(() => keys(command.order))
    case 'erasures':
      return orExit(() => erasures())
    case 'projections':
      return orExit(() => projections(command.order))
    case 'foreign-events':
      return orExit(() => foreignEvents(command.order))
    case 'work':
      return orExit(() => work(command.order))
    case 'status':
      return orExit(() => status(command.order))
    case 'doctor':
      return orExit(() => doctor(command.order))
    case 'audit':
      return audit(command.order)
    case 'backup':
      return backup(command.order)
    case 'witness':
      return orExit(() => live((surroundings) => witness(command.order, surroundings)))
    case 'verify-receipt':
      return orExit(() => verifyReceipt(command.order))
    case 'completion':
      return completion(command.order.shell)
    case 'help':
      tolerateClosedOutput()
      process.stdout.write(command.text)
      return
    case 'wrong':
      process.stderr.write(`${command.reason}\n`)
      process.exitCode = 2
  }
}

async function orExit(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`platform: ${error instanceof ConfigurationError ? 'configuration: ' : ''}${message}\n`)
    process.exit(1)
  }
}

/** A bar is one line that is written again and again. */
const isInteractive = process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === ''

interface Surroundings {
  readonly logger: Logger
  readonly stop: GracefulStop
  readonly onFatal: (reason: string) => void
}

/** Starts a long-running command. A signal or a fatal error ends it. `start` resolves to the text for the operator. */
async function live(start: (surroundings: Surroundings) => Promise<string>): Promise<void> {
  tolerateClosedOutput()
  const logger = createLogger({ level: loadConfiguration({ LOG_LEVEL: process.env['LOG_LEVEL'] }).logLevel })
  const stop = createGracefulStop({ logger })
  stop.listen()
  const onFatal = (reason: string) => {
    process.stderr.write(`platform: ${reason}\n`)
    void stop.stop({ reason: 'fatal', code: 1 }).then((code) => process.exit(code))
  }
  // Node.js would print the error itself, and its message and members may contain values of a request.
  process.on('uncaughtException', (err) => {
    logger.error({ component: 'platform', err }, 'unexpected error')
    onFatal('an unexpected error, which the log names; start again')
  })
  try {
    process.stdout.write(`${await start({ logger, stop, onFatal })}\n`)
    // A process that is killed keeps nothing at its end.
    flushCompileCache()
  } catch (error) {
    if (!(stop.isStopping && error instanceof Error && error.name === 'AbortError')) throw error
  }
}

async function startUp(surroundings: Surroundings): Promise<string> {
  const { up } = await import('./up.ts')
  const { configuration, credentials } = await up({ env: process.env, ...surroundings })
  const { base_url: baseUrl, provider_url: providerUrl, mailbox_url: mailboxUrl, chat_url: chatUrl } = credentials
  const { console: atConsole } = credentials
  // Their addresses contain a secret, and the output of a service is often a log.
  const inCredentials = (member: string) => `the address is ${member} of the credentials`
  return [
    `The platform is ready (profile ${configuration.profile}).`,
    `  API            ${baseUrl}`,
    `  documentation  ${baseUrl}/docs`,
    ...(configuration.console === 'off'
      ? []
      : [`  console        ${baseUrl}/console${atConsole === undefined ? '' : ` (e-mail ${atConsole.email})`}`]),
    `  health         ${baseUrl}/health`,
    `  metrics        ${metricsAddress(configuration, baseUrl)}`,
    `  provider       ${providerUrl ?? 'none'}`,
    ...(mailboxUrl === null ? [] : [`  mail box       ${inCredentials('mailbox_url')}`]),
    ...(chatUrl === null ? [] : [`  chat messages  ${inCredentials('chat_url')}`]),
    `  credentials    ${configuration.dataDir}/credentials.json`,
  ].join('\n')
}

async function startServe(roles: readonly Role[], surroundings: Surroundings): Promise<string> {
  const { serve } = await import('./serve.ts')
  const { configuration, port } = await serve({ env: process.env, roles, ...surroundings })
  const { host, profile } = configuration
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return [
    `The platform is ready (profile ${profile}): ${roles.join(', ')}.`,
    `  health         ${address}/health`,
    `  metrics        ${metricsAddress(configuration, address)}`,
  ].join('\n')
}

function metricsAddress({ host, metricsPort }: Configuration, address: string): string {
  return metricsPort === undefined ? `${address}/metrics` : `port ${metricsPort} of ${host}`
}

/** Exit code 1 means faults of the log. Everything that prevents the check is 2. */
async function audit(order: AuditOrder): Promise<void> {
  tolerateClosedOutput()
  try {
    const { runAudit } = await import('./audit/run.ts')
    const print = (line: string) => void process.stdout.write(`${line}\n`)
    const { code, text } = await runAudit(order, process.env, print)
    if (text === '') process.exitCode = code
    else if (code === 0 || order.action === 'verify') process.stdout.write(`${text}\n`)
    else process.stderr.write(`platform: ${text}\n`)
    process.exitCode = code
  } catch (error) {
    process.stderr.write(`platform: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(order.action === 'accept-older-log' ? 1 : 2)
  }
}

/** Exit code 1 means damage in the place of the backups. Everything that prevents the work is 2. */
async function backup(order: BackupOrder): Promise<void> {
  tolerateClosedOutput()
  try {
    const { runBackup } = await import('./backup/run.ts')
    const { code, text } = await runBackup(order, process.env)
    process.stdout.write(`${text}\n`)
    process.exitCode = code
  } catch (error) {
    process.stderr.write(`platform: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(2)
  }
}

async function witness(order: WitnessOrder, { logger, stop }: Surroundings): Promise<string> {
  const { startWitness } = await import('./witness/start-witness.ts')
  const host = process.env['HOST'] ?? '127.0.0.1'
  const running = await startWitness(order, { host, logger, now: () => new Date() })
  stop.onStop('servers', 'witness', () => running.stop())
  return `witness ${running.address} ${running.vkey}`
}

async function verifyReceipt(order: VerifyReceiptOrder): Promise<void> {
  const { verifyReceiptFile } = await import('./verify-receipt.ts')
  const { code, text } = await verifyReceiptFile(order)
  if (code === 0) process.stdout.write(`${text}\n`)
  else process.stderr.write(`platform: ${text}\n`)
  process.exitCode = code
}

async function work(order: WorkOrder): Promise<void> {
  tolerateClosedOutput()
  const { runWork } = await import('./operations/work-command.ts')
  const { text, code, isRefusal = false } = await runWork(order, process.env)
  if (!isRefusal) process.stdout.write(`${text}\n`)
  else process.stderr.write(`platform: ${text}\n`)
  process.exitCode = code
}

async function doctor(order: DoctorOrder): Promise<void> {
  tolerateClosedOutput()
  const { runDoctor } = await import('./operations/doctor.ts')
  const { code, text } = await runDoctor(order, process.env)
  process.stdout.write(`${text}\n`)
  process.exitCode = code
}

async function status(order: StatusOrder): Promise<void> {
  tolerateClosedOutput()
  const { runStatus } = await import('./operations/status-command.ts')
  const { code, text } = await runStatus(order, process.env)
  process.stdout.write(`${text}\n`)
  process.exitCode = code
}

async function foreignEvents(order: RejectedEventsOrder): Promise<void> {
  const { rejectedEvents } = await import('./foreign-events.ts')
  process.stdout.write(`${JSON.stringify(await rejectedEvents(process.env, order), null, 2)}\n`)
}

/** Of the servers of the environment, or of the `platform up` over the data folder. */
async function configurationFor(command: string): Promise<Configuration> {
  const { findServers } = await import('./projections/servers.ts')
  return (await findServers(process.env, serverNeeds, command)).configuration
}

async function register(order: ClientOrder): Promise<void> {
  const configuration = await configurationFor('clients register')
  const { registerOrdered } = await import('./client-registration.ts')
  const credentials = await registerOrdered(configuration, order, createLogger({ level: 'silent' }))
  process.stdout.write(`${JSON.stringify(credentials, null, 2)}\n`)
}

async function createAdministrator(order: AdministratorOrder): Promise<void> {
  requireVariables(process.env, needsOfPeople(['api'], process.env), 'administrators create')
  const configuration = await configurationFor('administrators create')
  const { createOrdered } = await import('./administrators.ts')
  const administrator = await createOrdered(configuration, order, createLogger({ level: 'silent' }))
  process.stdout.write(`${JSON.stringify(administrator, null, 2)}\n`)
}

async function createOperator(order: OperatorOrder): Promise<void> {
  requireVariables(process.env, needsOfPeople(['api'], process.env), 'operators create')
  const configuration = await configurationFor('operators create')
  const { createOperator: create } = await import('./administrators.ts')
  const operator = await create(configuration, order, createLogger({ level: 'silent' }))
  process.stdout.write(`${JSON.stringify(operator, null, 2)}\n`)
}

async function completion(shell: Shell): Promise<void> {
  tolerateClosedOutput()
  process.stdout.write(`${completionOf(await wholeProgram(), shell)}\n`)
}

async function keys(order: KeysOrder): Promise<void> {
  tolerateClosedOutput()
  const { runKeys } = await import('./keys/run.ts')
  await runKeys(order, process.env, {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(text),
    isInteractive,
  })
}

async function erasures(): Promise<void> {
  tolerateClosedOutput()
  const { exportErasures } = await import('./erasures/run.ts')
  await exportErasures(process.env, (line) => void process.stdout.write(`${line}\n`))
}

async function projections(order: ProjectionsOrder): Promise<void> {
  tolerateClosedOutput()
  const interrupted = new AbortController()
  // Short commands end at once on a signal. A second signal ends any command at once.
  if (order.action === 'rebuild' || order.action === 'verify') {
    for (const name of stopSignals) process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
  }
  const { runProjections } = await import('./projections/run.ts')
  process.exitCode = await runProjections(order, process.env, {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(text),
    isInteractive,
    signal: interrupted.signal,
  })
}
