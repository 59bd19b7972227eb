import { flushCompileCache } from 'node:module'
import { tolerateClosedOutput } from '../embedded/children/parent-watch.ts'
import { loadConfiguration, type Configuration, type Environment } from '../platform/configuration/configuration.ts'
import { createGracefulStop, stopSignals, type GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import { createLogger, type Logger } from '../platform/observability/logging.ts'
import type { AdministratorOrder, ClientOrder, OperatorOrder } from './client-orders.ts'
import { readCommand, wholeProgram, type ReadCommand, type RejectedEventsOrder } from './command-line.ts'
import { completionOf, type Shell } from './completion.ts'
import type { AuditOrder } from './audit/orders.ts'
import type { KeysOrder } from './keys/orders.ts'
import type { DoctorOrder } from './operations/doctor.ts'
import type { StatusOrder } from './operations/status-command.ts'
import type { WorkOrder } from './operations/work-orders.ts'
import type { BackupOrder } from './backup/orders.ts'
import type { ProjectionsOrder } from './projections/orders.ts'
import type { Terminal } from './projections/run.ts'
import { needsOfPeople, requireVariables, serverNeeds, type Role } from './roles.ts'
import type { VerifyReceiptOrder } from './verify-receipt.ts'
import type { WitnessOrder } from './witness/start-witness.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'

// Each command loads only its own modules. So `projections list` does not wait for a web server to load.

/** What a command has of its process. `test/support/command-here.ts` has another one. */
export interface OwnProcess extends Terminal {
  readonly env: Environment
  /** Ends it although connections may be open. */
  readonly exit: (code: number) => void
}

const interrupted = new AbortController()
const thisProcess: OwnProcess = {
  env: process.env,
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(text),
  // A bar is one line that is written again and again.
  isInteractive: process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '',
  signal: interrupted.signal,
  exit: (code) => process.exit(code),
}

/** Only their output has the secrets that they create, so a closed output is an error. */
const createSecrets: readonly string[] = ['register-client', 'create-administrator', 'create-operator']

export async function runProgram(args: readonly string[]): Promise<void> {
  const command = await readCommand(args)
  switch (command.name) {
    case 'up':
      await orExit(thisProcess, () => live(startUp))
      return
    case 'serve':
      await orExit(thisProcess, () => live((surroundings) => startServe(command.order.roles, surroundings)))
      return
    case 'witness':
      await orExit(thisProcess, () => live((surroundings) => witness(command.order, surroundings)))
      return
    default:
      if (!createSecrets.includes(command.name)) tolerateClosedOutput()
      // Short commands end at once on a signal. A second signal ends any command at once.
      if (command.name === 'projections' && ['rebuild', 'verify'].includes(command.order.action)) {
        for (const name of stopSignals) process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)))
      }
      process.exitCode = await carryOut(command, thisProcess)
  }
}

/** A command that ends by itself. */
export type EndingCommand = Exclude<ReadCommand, { readonly name: 'up' | 'serve' | 'witness' }>

/** Resolves to the exit code. */
export async function carryOut(command: EndingCommand, own: OwnProcess): Promise<number> {
  switch (command.name) {
    case 'register-client':
      return orExit(own, () => register(command.order, own))
    case 'create-administrator':
      return orExit(own, () => createAdministrator(command.order, own))
    case 'create-operator':
      return orExit(own, () => createOperator(command.order, own))
    case 'keys':
      return orExit(own, () => keys(command.order, own))
    case 'erasures':
      return orExit(own, () => erasures(own))
    case 'projections':
      return orExit(own, () => projections(command.order, own))
    case 'foreign-events':
      return orExit(own, () => foreignEvents(command.order, own))
    case 'work':
      return orExit(own, () => work(command.order, own))
    case 'status':
      return orExit(own, () => status(command.order, own))
    case 'doctor':
      return orExit(own, () => doctor(command.order, own))
    case 'audit':
      return audit(command.order, own)
    case 'backup':
      return backup(command.order, own)
    case 'verify-receipt':
      return orExit(own, () => verifyReceipt(command.order, own))
    case 'completion':
      return orExit(own, () => completion(command.order.shell, own))
    case 'help':
      own.out(command.text.replace(/\n$/, ''))
      return 0
    case 'wrong':
      own.err(`${command.reason}\n`)
      return 2
  }
}

async function orExit<Result>(own: OwnProcess, work: () => Promise<Result>): Promise<Result | number> {
  try {
    return await work()
  } catch (error) {
    return failed(own, error, 1, error instanceof ConfigurationError ? 'configuration: ' : '')
  }
}

function failed({ err, exit }: OwnProcess, error: unknown, code: number, about = ''): number {
  err(`platform: ${about}${error instanceof Error ? error.message : String(error)}\n`)
  exit(code)
  return code
}

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
async function audit(order: AuditOrder, own: OwnProcess): Promise<number> {
  try {
    const { runAudit } = await import('./audit/run.ts')
    const { code, text } = await runAudit(order, own.env, own.out, (line) => own.err(`platform: ${line}\n`))
    if (text === '') return code
    if (code === 0 || order.action === 'verify') own.out(text)
    else own.err(`platform: ${text}\n`)
    return code
  } catch (error) {
    return failed(own, error, order.action === 'accept-older-log' ? 1 : 2)
  }
}

/** Exit code 1 means damage in the place of the backups. Everything that prevents the work is 2. */
async function backup(order: BackupOrder, own: OwnProcess): Promise<number> {
  try {
    const { runBackup } = await import('./backup/run.ts')
    const { code, text } = await runBackup(order, own.env, (line) => own.err(`platform: ${line}\n`))
    own.out(text)
    return code
  } catch (error) {
    return failed(own, error, 2)
  }
}

async function witness(order: WitnessOrder, { logger, stop }: Surroundings): Promise<string> {
  const { startWitness } = await import('./witness/start-witness.ts')
  const host = process.env['HOST'] ?? '127.0.0.1'
  const running = await startWitness(order, { host, logger, now: () => new Date() })
  stop.onStop('servers', 'witness', () => running.stop())
  return `witness ${running.address} ${running.vkey}`
}

async function verifyReceipt(order: VerifyReceiptOrder, { out, err }: OwnProcess): Promise<number> {
  const { verifyReceiptFile } = await import('./verify-receipt.ts')
  const { code, text } = await verifyReceiptFile(order)
  if (code === 0) out(text)
  else err(`platform: ${text}\n`)
  return code
}

async function work(order: WorkOrder, { env, out, err }: OwnProcess): Promise<number> {
  const { runWork } = await import('./operations/work-command.ts')
  const { text, code, isRefusal = false } = await runWork(order, env)
  if (!isRefusal) out(text)
  else err(`platform: ${text}\n`)
  return code
}

async function doctor(order: DoctorOrder, { env, out }: OwnProcess): Promise<number> {
  const { runDoctor } = await import('./operations/doctor.ts')
  const { code, text } = await runDoctor(order, env)
  out(text)
  return code
}

async function status(order: StatusOrder, { env, out }: OwnProcess): Promise<number> {
  const { runStatus } = await import('./operations/status-command.ts')
  const { code, text } = await runStatus(order, env)
  out(text)
  return code
}

async function foreignEvents(order: RejectedEventsOrder, { env, out }: OwnProcess): Promise<number> {
  const { rejectedEvents } = await import('./foreign-events.ts')
  out(JSON.stringify(await rejectedEvents(env, order), null, 2))
  return 0
}

/** Of the servers of the environment, or of the `platform up` over the data folder. */
async function configurationFor(env: Environment, command: string): Promise<Configuration> {
  const { findServers } = await import('./projections/servers.ts')
  return (await findServers(env, serverNeeds, command)).configuration
}

async function register(order: ClientOrder, { env, out }: OwnProcess): Promise<number> {
  const configuration = await configurationFor(env, 'clients register')
  const { registerOrdered } = await import('./client-registration.ts')
  out(JSON.stringify(await registerOrdered(configuration, order, createLogger({ level: 'silent' })), null, 2))
  return 0
}

async function createAdministrator(order: AdministratorOrder, { env, out }: OwnProcess): Promise<number> {
  requireVariables(env, needsOfPeople(['api'], env), 'administrators create')
  const configuration = await configurationFor(env, 'administrators create')
  const { createOrdered } = await import('./administrators.ts')
  out(JSON.stringify(await createOrdered(configuration, order, createLogger({ level: 'silent' })), null, 2))
  return 0
}

async function createOperator(order: OperatorOrder, { env, out }: OwnProcess): Promise<number> {
  requireVariables(env, needsOfPeople(['api'], env), 'operators create')
  const configuration = await configurationFor(env, 'operators create')
  const { createOperator: create } = await import('./administrators.ts')
  out(JSON.stringify(await create(configuration, order, createLogger({ level: 'silent' })), null, 2))
  return 0
}

async function completion(shell: Shell, { out }: OwnProcess): Promise<number> {
  out(completionOf(await wholeProgram(), shell))
  return 0
}

async function keys(order: KeysOrder, { env, ...output }: OwnProcess): Promise<number> {
  const { runKeys } = await import('./keys/run.ts')
  await runKeys(order, env, output)
  return 0
}

async function erasures({ env, out }: OwnProcess): Promise<number> {
  const { exportErasures } = await import('./erasures/run.ts')
  await exportErasures(env, out)
  return 0
}

async function projections(order: ProjectionsOrder, { env, ...terminal }: OwnProcess): Promise<number> {
  const { runProjections } = await import('./projections/run.ts')
  return runProjections(order, env, terminal)
}
