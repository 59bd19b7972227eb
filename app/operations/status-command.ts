import type { Overview } from '../../contracts/operations/record.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { tableText } from '../projections/list.ts'
import { openServers } from '../projections/servers.ts'
import { clearly } from '../start-errors.ts'
import { createOperations } from './operations.ts'
import { errorText } from './work-command.ts'

export interface StatusOrder {
  readonly isJson: boolean
}

/** The overview over the servers themselves, so it needs no API. Exit code 1 for a failing status. */
export async function runStatus(
  { isJson }: StatusOrder,
  env: Environment,
): Promise<{ readonly text: string; readonly code: number }> {
  const servers = await openServers(env, 'status')
  try {
    const operations = createOperations({
      pool: servers.pool,
      failedRetentionSeconds: servers.configuration.failedRetentionSeconds,
      store: () => servers.eventStore(),
      now: () => new Date(),
    })
    const overview = await clearly('DATABASE_URL', () => operations.overview())
    const text = isJson ? JSON.stringify(overview, null, 2) : statusText(overview)
    return { text, code: overview.status === 'failing' ? 1 : 0 }
  } finally {
    await servers.close()
  }
}

export function statusText({ status, problems, systems, steps, processes, oldest_work: oldest }: Overview): string {
  const headed = (title: string, rows: readonly (readonly string[])[]) =>
    rows.length < 2 ? [] : ['', title, tableText(rows)]
  return [
    `status: ${status}`,
    ...headed('Problems', [
      ['SEVERITY', 'CODE', 'SUBJECT', 'SINCE', 'COUNT', 'WHAT TO DO'],
      ...problems.map(({ severity, code, subject, since, count, runbook }) => [
        severity,
        code,
        subject,
        since ?? '-',
        String(count),
        runbook,
      ]),
    ]),
    ...headed('Systems outside', [
      ['NAME', 'STATUS', 'LAST SUCCESS', 'FAILURES', 'ERROR'],
      ...systems.map(({ name, status: state, last_success_at: success, failures, error }) => [
        name,
        state,
        success ?? '-',
        String(failures),
        errorText(error),
      ]),
    ]),
    ...headed('Processes', [
      ['ID', 'ROLES', 'VERSION', 'STATUS', 'SEEN'],
      ...processes.map(({ id, roles, version, status: state, seen_at: seen }) => [
        id,
        roles.join(','),
        version,
        state,
        seen,
      ]),
    ]),
    '',
    `work: ${Object.entries(steps)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ')}`,
    ...(oldest === null ? [] : [`oldest due work: ${oldest.process}.${oldest.step} since ${oldest.since}`]),
  ].join('\n')
}
