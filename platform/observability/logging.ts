import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino'

/**
 * The allow list of members of a log line. All others are dropped. No member may contain personal data: only our own
 * identifiers, codes, counts and durations. The one exception is `sourceAddress`.
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
  /** IP address of a caller. Only lines about security contain it: operators need it to find an attacker. */
  readonly sourceAddress?: string
  readonly method?: string
  /** The route's template, never the requested address. */
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

/**
 * The product's logging interface; pino's logger implements it. The message is a constant text, values go into the
 * fields.
 */
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

/** JSON lines on standard output (or `destination`), with the allow list, and without messages of foreign errors. */
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
  // Each line is written at once. With lines left at its end, pino would try for ever to write them to a closed pipe.
  return pino(settings, options.destination ?? pino.destination({ dest: 1, sync: true }))
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
 * pino falls back to an error's own message and interpolates further arguments; both may contain a value of a request.
 * So a line has the given constant message, or none.
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

/** Class, code and stack frames. Contains the message only of our own errors that declare `isSafeToLog`. */
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

/** A stack starts with the message, which may have several lines. Only lines of a frame's form after it count. */
function framesOf(error: Error): string[] {
  const stack = error.stack ?? ''
  const below = stack.includes(error.message) ? stack.slice(stack.indexOf(error.message) + error.message.length) : stack
  return below
    .split('\n')
    .filter((line) => frame.test(line))
    .slice(0, 20)
    .map((line) => line.trim())
}
