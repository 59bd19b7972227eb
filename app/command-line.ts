import { Argument, Command, CommanderError, Option, type CommandUnknownOpts } from '@commander-js/extra-typings'
import type { AuditOrder } from './audit/orders.ts'
import type { BackupOrder } from './backup/orders.ts'
import type { AdministratorOrder, ClientOrder, OperatorOrder } from './client-orders.ts'
import { each, example, filled, numberFrom, type Define } from './command-options.ts'
import { shells, type Shell } from './completion.ts'
import type { ErasuresOrder } from './erasures/orders.ts'
import type { KeysOrder } from './keys/orders.ts'
import type { DoctorOrder } from './operations/doctor.ts'
import type { StatusOrder } from './operations/status-command.ts'
import type { WorkOrder } from './operations/work-orders.ts'
import type { ProjectionsOrder } from './projections/orders.ts'
import { allRoles, type Role } from './roles.ts'
import type { VerifyReceiptOrder } from './verify-receipt.ts'
import type { WitnessOrder } from './witness/start-witness.ts'

export interface RejectedEventsOrder {
  /** Undefined: all channels. */
  readonly channel: string | undefined
}

/** What each command receives. */
interface Orders {
  up: object
  serve: { readonly roles: readonly Role[] }
  'register-client': ClientOrder
  'create-administrator': AdministratorOrder
  'create-operator': OperatorOrder
  keys: KeysOrder
  erasures: ErasuresOrder
  work: WorkOrder
  projections: ProjectionsOrder
  'foreign-events': RejectedEventsOrder
  'verify-receipt': VerifyReceiptOrder
  audit: AuditOrder
  status: StatusOrder
  doctor: DoctorOrder
  backup: BackupOrder
  witness: WitnessOrder
  completion: { readonly shell: Shell }
}

export type Chosen = { [Name in keyof Orders]: { readonly name: Name; readonly order: Orders[Name] } }[keyof Orders]

export type ReadCommand =
  | Chosen
  /** Asked for, so it is a result. */
  | { readonly name: 'help'; readonly text: string }
  | { readonly name: 'wrong'; readonly reason: string }

/** A first word of the command line. */
interface Topic {
  readonly summary: string
  /** Loads only what this word needs: a start must not wait for the commands of operators. */
  readonly define: (command: Command, choose: (chosen: Chosen) => void) => Promise<void>
}

function topic<Name extends keyof Orders>(
  name: Name,
  summary: string,
  load: () => Promise<Define<Orders[Name]>> | Define<Orders[Name]>,
): Topic {
  return {
    summary,
    async define(command, choose) {
      // The compiler does not see that name and order belong together.
      ;(await load())(command, (order) => choose({ name, order } as Chosen))
    },
  }
}

const topics: Readonly<Record<string, Topic>> = {
  up: topic(
    'up',
    'The whole platform on this machine, embedded servers included: the same as npm start.',
    () => defineUp,
  ),
  serve: topic('serve', 'One or more roles against real servers.', () => defineServe),
  status: topic('status', 'What is wrong, since when, and what to do: docs/operating.md.', () =>
    defineReport('status'),
  ),
  doctor: topic('doctor', 'Looks at everything that the platform needs.', () => defineReport('doctor')),
  steps: topic(
    'work',
    'Work of all processes: list, show, retry.',
    async () => (await import('./operations/work-orders.ts')).defineSteps,
  ),
  groups: topic(
    'work',
    'Work that fails in the same way: list, show, retry.',
    async () => (await import('./operations/work-orders.ts')).defineGroups,
  ),
  deliveries: topic(
    'work',
    'Deliveries of webhooks that are not over.',
    async () => (await import('./operations/work-orders.ts')).defineDeliveries,
  ),
  relays: topic(
    'work',
    'The relays of public channels: state, position, since when each has not moved.',
    async () => (await import('./operations/work-orders.ts')).defineRelays,
  ),
  projections: topic(
    'projections',
    'Read models: list, lag, rebuild, verify, retry, skip, rollback, drop.',
    async () => (await import('./projections/orders.ts')).defineProjections,
  ),
  clients: topic(
    'register-client',
    'Clients of the API: register.',
    async () => (await import('./client-orders.ts')).defineClients,
  ),
  administrators: topic(
    'create-administrator',
    'Administrators of organisations: create.',
    async () => (await import('./client-orders.ts')).defineAdministrators,
  ),
  operators: topic(
    'create-operator',
    'Operators of the installation: create.',
    async () => (await import('./client-orders.ts')).defineOperators,
  ),
  keys: topic(
    'keys',
    'Keys of the vault: list, rotate, rewrap, end.',
    async () => (await import('./keys/orders.ts')).defineKeys,
  ),
  backup: topic(
    'backup',
    'Backups: create, list, verify, restore, prune, release.',
    async () => (await import('./backup/orders.ts')).defineBackup,
  ),
  erasures: topic(
    'erasures',
    'The ledger of erasures: export.',
    async () => (await import('./erasures/orders.ts')).defineErasures,
  ),
  audit: topic(
    'audit',
    'The log: timeline, as-of, provenance, export, verify, check, accept-older-log.',
    async () => (await import('./audit/orders.ts')).defineAudit,
  ),
  verify: topic('verify-receipt', 'Consent receipts: receipt.', () => defineVerify),
  witness: topic('witness', 'A witness of sealed logs, on a machine of its own.', () => defineWitness),
  'foreign-events': topic('foreign-events', 'Events of foreign channels: rejected.', () => defineForeignEvents),
  completion: topic('completion', 'Completion for a shell.', () => defineCompletion),
}

/** What the arguments ask for. */
export async function readCommand(args: readonly string[]): Promise<ReadCommand> {
  let chosen: Chosen | undefined
  let out = ''
  let err = ''
  const program = await programOf(
    Object.keys(topics).filter((name) => args.slice(0, 2).includes(name)),
    (found) => (chosen = found),
  )
  for (const command of commandsIn(program))
    command.exitOverride().configureOutput({ writeOut: (text) => (out += text), writeErr: (text) => (err += text) })
  try {
    program.parse(args.length === 0 ? ['--help'] : args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { name: 'help', text: out }
    // Its help alone does not say what was wrong.
    const fault = args.includes('help') ? 'is no command' : 'takes a command'
    const missing = error.code === 'commander.help' ? `platform: ${args.at(-1)} ${fault}\n\n` : ''
    return { name: 'wrong', reason: `${missing}${err.trimEnd()}` }
  }
  return chosen ?? { name: 'wrong', reason: 'platform: there is no such command' }
}

/** The whole program, for the completion of shells. */
export function wholeProgram(): Promise<Command> {
  return programOf(Object.keys(topics), () => undefined)
}

export function commandsIn(command: CommandUnknownOpts): readonly CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(commandsIn)]
}

async function programOf(defined: readonly string[], choose: (chosen: Chosen) => void): Promise<Command> {
  const program = new Command('platform')
    .usage('COMMAND [options]')
    .description('The Clinical Assessment Platform: npm run platform -- COMMAND')
    .addHelpText('after', '\nEnvironment variables configure the platform: docs/configuration.md lists them.')
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: (?:command-argument )?/, 'platform: ')),
    })
    .showHelpAfterError('Add --help to see what a command takes.')
  // A forgotten value would take the next option for itself.
  program.hook('preAction', (_, command) => {
    const values: Readonly<Record<string, unknown>> = command.opts()
    for (const option of command.options) {
      const value = values[option.attributeName()]
      if (command.options.some(({ long }) => long === value))
        command.error(`error: option '${option.flags}' argument missing`)
    }
  })
  for (const [name, { summary, define }] of Object.entries(topics)) {
    const command = program.command(name).description(summary)
    if (defined.includes(name)) await define(command, choose)
  }
  return program
}

const defineUp: Define<object> = (up, choose) => {
  up.action(() => choose({}))
  example(up, 'up')
}

const defineServe: Define<Orders['serve']> = (serve, choose) => {
  serve
    .addOption(new Option('--role <roles...>', 'a role; repeat it for several. All, unless named').choices(allRoles))
    .action(({ role: named = allRoles }) => choose({ roles: allRoles.filter((role) => named.includes(role)) }))
  example(serve, 'serve --role projector --role processor')
}

/** `status` and `doctor`. */
const defineReport =
  (name: string): Define<StatusOrder> =>
  (command, choose) => {
    command
      .option('--json', 'as JSON')
      .addHelpText('after', '\nIt needs no API. Exit code 1 if something fails.')
      .action(({ json: isJson = false }) => choose({ isJson }))
    example(command, name)
  }

const defineForeignEvents: Define<RejectedEventsOrder> = (foreignEvents, choose) => {
  const rejected = foreignEvents
    .command('rejected')
    .description('The newest 1000 events of foreign channels that were skipped, with the reason, as JSON.')
    .option('--channel <name>', 'only of this channel')
    .action(({ channel }) => choose({ channel }))
  example(rejected, 'foreign-events rejected --channel clinic.events')
}

const defineVerify: Define<VerifyReceiptOrder> = (verify, choose) => {
  const receipt = verify
    .command('receipt')
    .description('Checks offline whether a consent receipt is genuine.')
    .argument('<file>', 'the receipt')
    .requiredOption('--jwks <file>', 'the keys of /v1/auth/.well-known/jwks.json')
    .addHelpText('after', '\nExit codes: 0 genuine, 3 not a receipt, 4 the key is not in the set, 5 altered.')
    .action((file, { jwks }) => choose({ file, jwks }))
  example(receipt, 'verify receipt receipt.json --jwks jwks.json')
}

const defineWitness: Define<WitnessOrder> = (witness, choose) => {
  witness
    .requiredOption('--data <dir>', 'where it keeps its key and the newest seals', filled)
    .option('--log <vkey>', 'the key of a log; repeat it for several', each, [])
    .option('--port <n>', 'where it listens', numberFrom(0, 65_535), 8430)
    .option('--name <name>', 'its name in signatures')
    .addHelpText(
      'after',
      '\nIt signs a seal only if the log never went back. Prints "witness <address> <vkey>" for WITNESSES of the platform. HOST is its address (127.0.0.1).',
    )
    .action(({ data: dataDir, log: logs, port, name }, command) => {
      if (logs.length === 0) command.error("error: required option '--log <vkey>' not specified")
      choose({ dataDir, logs, port, name })
    })
  example(witness, 'witness --data /var/lib/witness --log VKEY')
}

const defineCompletion: Define<Orders['completion']> = (completion, choose) => {
  completion.addArgument(new Argument('<shell>', 'the shell').choices(shells)).action((shell) => choose({ shell }))
  completion.addHelpText('after', '\nIt completes the word platform: platform() { npm run -s platform -- "$@"; }')
  example(completion, 'completion bash')
}
