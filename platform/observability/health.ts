import type { Profile } from '../kit/profiles.ts'
import { limited } from '../kit/time-limits.ts'

export const checkStates = ['ok', 'warning', 'failing'] as const
type CheckStatus = (typeof checkStates)[number]

interface CheckResult {
  readonly status: CheckStatus
  /** A text without addresses and secrets. Its only values are counts, instants and names from the code. */
  readonly detail?: string
}

export interface HealthCheck {
  readonly name: string
  /**
   * True if a failure makes `/health/ready` answer 503. `of-its-services`: it does so only for the services in
   * `services`. Every failure makes `/health` answer 503.
   */
  readonly gatesReadiness: boolean | 'of-its-services'
  /** Prefixes of the services whose health includes it; all if omitted. */
  readonly services?: readonly string[]
  readonly run: () => CheckResult | Promise<CheckResult>
}

/** `live`: no checks. `ready`: checks that gate readiness. `full`: all checks. */
export type HealthKind = 'live' | 'ready' | 'full'

interface HealthReport {
  readonly status: CheckStatus
  readonly profile: Profile
  /** Roles of this process; absent if not set. */
  readonly roles?: readonly string[]
  readonly checks: readonly (CheckResult & { readonly name: string })[]
}

export interface Health {
  readonly profile: Profile
  register(check: HealthCheck): void
  /** Waits at most `limitMs` (2000) per check. */
  report(kind: HealthKind, service?: string): Promise<HealthReport>
}

export function createHealth(options: {
  readonly profile: Profile
  readonly roles?: readonly string[]
  readonly limitMs?: number
}): Health {
  const checks: HealthCheck[] = []
  const about = { profile: options.profile, ...(options.roles === undefined ? {} : { roles: options.roles }) }
  return {
    profile: options.profile,
    register: (check) => void checks.push(check),
    async report(kind, service) {
      const asked = checks.filter((check) => concerns(check, kind, service))
      const results = await Promise.all(asked.map((check) => runWithin(check, options.limitMs ?? 2000)))
      return { status: worst(results.map((result) => result.status)), ...about, checks: results }
    },
  }
}

function concerns(check: HealthCheck, kind: HealthKind, service: string | undefined): boolean {
  if (kind === 'live' || (kind === 'ready' && !check.gatesReadiness)) return false
  if (kind === 'ready' && check.gatesReadiness === 'of-its-services' && service === undefined) return false
  return service === undefined || check.services === undefined || check.services.includes(service)
}

async function runWithin({ name, run }: HealthCheck, limitMs: number) {
  const failing = (why: string) => (): CheckResult => ({ status: 'failing', detail: why })
  const answer = (async () => run())().catch(failing('the check failed'))
  const { status, detail } = await limited(limitMs, answer).catch(failing('no answer in time'))
  return { name, status, ...(detail === undefined ? {} : { detail }) }
}

function worst(statuses: readonly CheckStatus[]): CheckStatus {
  if (statuses.includes('failing')) return 'failing'
  return statuses.includes('warning') ? 'warning' : 'ok'
}
