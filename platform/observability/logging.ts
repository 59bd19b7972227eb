import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino'

/**
 * The only members that a log line can carry: anything else is dropped before it is written. None of them may
 * hold personal data: identifiers of our own, codes, counts and durations. The one exception is `sourceAddress`.
 */
export interface LogFields {
  readonly component?: string
  readonly service?: string
  readonly profile?: string
  readonly projector?: string
  readonly process?: string
  readonly step?: string
  readonly channel?: string
  readonly category?: string
  readonly subscription?: string
  readonly eventId?: string
  readonly eventType?: string
  readonly position?: string
  readonly requestId?: string
  readonly problemId?: string
  readonly correlationId?: string
  readonly traceId?: string
  readonly clientId?: string
  readonly orgId?: string
  readonly actor?: string
  /** IP address of a caller. Only lines about security carry it: an operator needs it to find an attacker. */
  readonly sourceAddress?: string
  readonly method?: string
  /** The route's template, never the address that was asked. */
  readonly route?: string
  readonly status?: number
  readonly code?: string
  /** A fixed word or code. */
  readonly reason?: string
  readonly signal?: string
  readonly attempt?: number
  readonly count?: number
  readonly durationMs?: number
  readonly delayMs?: number
  readonly lagMs?: number
  readonly port?: number
  readonly host?: string
  readonly pid?: number
  readonly err?: unknown
}

/** What the product logs with; pino's logger is one. The message is a constant text, values go into the fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

const members: Readonly<Record<keyof LogFields, true>> = {
  component: true,
  service: true,
  profile: true,
  projector: true,
  process: true,
  step: true,
  channel: true,
  category: true,
  subscription: true,
  eventId: true,
  eventType: true,
  position: true,
  requestId: true,
  problemId: true,
  correlationId: true,
  traceId: true,
  clientId: true,
  orgId: true,
  actor: true,
  sourceAddress: true,
  method: true,
  route: true,
  status: true,
  code: true,
  reason: true,
  signal: true,
  attempt: true,
  count: true,
  durationMs: true,
  delayMs: true,
  lagMs: true,
  port: true,
  host: true,
  pid: true,
  err: true,
}
const allowed: ReadonlySet<string> = new Set(Object.keys(members))

/** JSON lines on standard output (or `destination`), members by allow-list, errors without foreign messages. */
export function createLogger(options: {
  readonly level: string
  readonly destination?: DestinationStream
}): PinoLogger {
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    formatters: { level: (label: string) => ({ level: label }), log: keepAllowed },
    hooks: { logMethod: withoutForeignMessages },
  }
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination)
}

function keepAllowed(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => allowed.has(name) && isLoggable(name, value)),
  )
}

function isLoggable(name: string, value: unknown): boolean {
  return (
    name === 'err' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    (typeof value === 'string' && value.length <= 512)
  )
}

/**
 * pino falls back to an error's own message and interpolates further arguments; both could carry a value of a
 * request. So a line has the constant message it was given, or none of its own.
 */
function withoutForeignMessages(
  this: PinoLogger,
  given: Parameters<PinoLogger['info']>,
  method: PinoLogger['info'],
): void {
  const [first, second]: readonly unknown[] = given
  if (typeof first === 'string') method.call(this, {}, first)
  else
    method.call(this, first instanceof Error ? { err: first } : first, typeof second === 'string' ? second : 'unnamed')
}

interface DescribedError {
  readonly type: string
  readonly code?: string | number
  readonly message?: string
  readonly frames: readonly string[]
  readonly cause?: DescribedError
}

const frame = /^ {4}at (?:[^()]{1,200} \()?(?:file:\/\/|node:|\/)[^\s()]+:\d+:\d+\)?$/

/** Class, code and stack frames; the message only of our own errors that declare `isSafeToLog`. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, frames: [] }
  const code: unknown = 'code' in error ? error.code : undefined
  return {
    type: error.constructor.name,
    ...(typeof code === 'number' || (typeof code === 'string' && /^[\w.-]{1,64}$/.test(code)) ? { code } : {}),
    ...('isSafeToLog' in error && error.isSafeToLog === true ? { message: error.message } : {}),
    frames: framesOf(error),
    ...(error.cause === undefined || depth >= 3 ? {} : { cause: describeError(error.cause, depth + 1) }),
  }
}

/** The message comes first in a stack and may span lines, so only lines of a frame's form below it count. */
function framesOf(error: Error): string[] {
  const stack = error.stack ?? ''
  const below = stack.includes(error.message) ? stack.slice(stack.indexOf(error.message) + error.message.length) : stack
  return below
    .split('\n')
    .filter((line) => frame.test(line))
    .slice(0, 20)
    .map((line) => line.trim())
}
